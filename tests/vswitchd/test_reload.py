"""The file is read again: the switch gets what differs, and hosts do not notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import learn, learned_flows
from tests.support.ovs import LOCAL, Bridge, VSwitchd
from tests.support.waiting import wait_for

A, B = frames.host(1), frames.host(2)
HOSTS = "=02:00:00:00:00:"
NOTHING = {"flows": 0, "groups": 0, "meters": 0}


@pytest.fixture
def bridge(bridge_factory: Callable[..., Bridge], controller: Controller) -> Bridge:
    """Ports 1 to 4; the file says nothing of it yet."""
    controller.configure("")
    made = bridge_factory(ports=4)
    reload(controller)
    return made


def reload(controller: Controller, **query: Any) -> Any:
    reply = controller.api("POST", "/v1/config/reload", **query)
    assert reply.status == 200, reply
    return reply.body


def configure(controller: Controller, bridge: Bridge, own: str) -> None:
    controller.configure(
        f"bridges: {{'{bridge.dpid16}': {own.replace('PORT', bridge.name + 'p')}}}"
    )


def table(bridge: Bridge) -> tuple[Any, Any, Any]:
    """All that the switch holds but learned addresses, without counters and ages."""
    flows = {flow.identity for flow in bridge.flows() if HOSTS not in flow.match}
    return flows, bridge.groups(), bridge.meters().keys()


def broadcast(port: int) -> bytes:
    return frames.ethernet(frames.BROADCAST, frames.host(10 + port))


def goes(bridge: Bridge, port: int, ports: set[int]) -> None:
    """A broadcast leaves by these ports, once the flows are there: a reload waits for no switch."""

    def there() -> bool:
        bridge.switch.settle()  # the datapath's cache lags behind the flows by some milliseconds
        return bridge.send(port, broadcast(port)) == ports

    wait_for(there, f"what comes by {port} to leave by {ports}")


def test_a_vlan_comes_and_goes(bridge: Bridge, controller: Controller) -> None:
    assert bridge.send(1, broadcast(1)) == {2, 3, 4, LOCAL}
    before = table(bridge)
    configure(controller, bridge, "{ports: {PORT1: {vlan: 10}, 2: {vlan: 10}}}")
    answer = reload(controller)
    assert [own["name"] for own in answer["bridges"]] == [bridge.name]
    assert answer["bridges"][0]["changes"] == [
        f"ports.{bridge.name}p1.vlan: default -> 10",
        "ports.2.vlan: default -> 10",
    ]
    assert sum(answer["bridges"][0]["sent"].values()) > 0
    goes(bridge, 1, {2})
    goes(bridge, 3, {4, LOCAL})
    controller.configure("")
    reload(controller)
    goes(bridge, 1, {2, 3, 4, LOCAL})
    wait_for(lambda: table(bridge) == before, "the flows of before")


@pytest.mark.parametrize(
    "own",
    [
        "{description: hello, ports: {PORT1: {description: uplink}}}",
        "{vlans: {10: {name: office, description: for work}}}",
    ],
)
def test_words_touch_no_flow(bridge: Bridge, controller: Controller, own: str) -> None:
    before = table(bridge)
    configure(controller, bridge, own)
    (changed,) = reload(controller)["bridges"]
    assert changed["sent"] == NOTHING
    assert changed["changes"]
    assert table(bridge) == before
    assert reload(controller)["bridges"] == []


def learned(bridge: Bridge) -> set[Any]:
    return {flow.identity for flow in learned_flows(bridge)}


def test_hosts_elsewhere_stay_known_and_are_not_touched(
    bridge: Bridge, controller: Controller
) -> None:
    learn(controller, bridge, 1, port=1)
    learn(controller, bridge, 2, port=2)
    assert bridge.send(1, frames.ethernet(B, A)) == {2}
    before = learned(bridge)
    configure(controller, bridge, "{ports: {PORT3: {vlan: 10}, PORT4: {isolated: true}}}")
    reload(controller)
    assert learned(bridge) == before
    assert bridge.send(1, frames.ethernet(B, A)) == {2}


def test_a_file_with_mistakes_changes_nothing(bridge: Bridge, controller: Controller) -> None:
    configure(controller, bridge, "{ports: {PORT1: {vlan: 10}, PORT2: {vlan: 10}}}")
    reload(controller)
    before, status = table(bridge), controller.get("/v1/config")
    controller.config_file.write_text(
        f"defaults: {{stp: {{enabled: false}}}}\n"
        f"bridges:\n  {bridge.dpid16}:\n    ports:\n      eth0: {{vlan: 5000}}\n"
        "      eth1: {isolatd: true}\n"
    )
    reply = controller.api("POST", "/v1/config/reload")
    assert reply.status == 409
    assert [(error["field"], error["detail"].split(": ")[0]) for error in reply.body["errors"]] == [
        (f"bridges.{bridge.dpid16}.ports.eth0.vlan.access", f"{controller.config_file}:5:20"),
        (f"bridges.{bridge.dpid16}.ports.eth1.isolatd", f"{controller.config_file}:6:14"),
    ]
    refused = controller.events("config.refused")[-1]
    assert refused["severity"] == "error"
    assert len(refused["data"]["errors"]) == 2
    assert table(bridge) == before
    assert controller.get("/v1/config") == status
    assert bridge.send(1, broadcast(1)) == {2}


def test_a_dry_run_tells_what_a_reload_does(bridge: Bridge, controller: Controller) -> None:
    before = table(bridge)
    configure(controller, bridge, "{ports: {PORT1: {isolated: true}, PORT2: {isolated: true}}}")
    planned = reload(controller, dry_run="true")["bridges"][0]
    assert table(bridge) == before
    assert len(planned["lines"]) == sum(planned["sent"].values()) > 0
    items = {one["item"]: one for one in planned["items"]}
    for port in (1, 2):
        assert items[f"port {bridge.name}p{port}"]["changes"] == ["isolated no -> yes"]
    counted = [sum(one["sent"].values()) for one in planned["items"]]
    assert sum(counted) == len(planned["lines"])
    done = reload(controller)["bridges"][0]
    assert (done["changes"], done["sent"]) == (planned["changes"], planned["sent"])
    assert table(bridge) != before


def test_what_was_set_at_run_time_stays_until_the_file_changes_it(
    bridge: Bridge, controller: Controller
) -> None:
    path = f"/v1/bridges/{bridge.dpid16}"
    name = bridge.port_name(1)
    assert controller.put_static(bridge, A, 1).status == 201
    controller.api("PATCH", f"{path}/multicast", {"mcast_querier": True})
    controller.api("PATCH", f"{path}/multicast/ports/{name}", {"mcast_router": 2})
    (own,) = (o for o in controller.get("/v1/config")["bridges"] if o["name"] == bridge.name)
    assert set(own["since"]) == {
        f"ports.{name}.multicast.mcast_router: default -> 2",
        "multicast.mcast_querier: default -> true",
    }
    configure(controller, bridge, f"{{ageing_time: 60, static: [{{mac: '{B}', port: PORT2}}]}}")
    (changed,) = reload(controller)["bridges"]
    assert (changed["dropped"], len(changed["changes"])) == ([], 2)
    answer = controller.get(f"{path}/multicast")
    assert answer["parameters"]["mcast_querier"]
    (changed,) = reload(controller, reset="true")["bridges"]
    assert set(changed["dropped"]) == {
        f"ports.{name}.multicast.mcast_router: 2 -> default",
        "multicast.mcast_querier: true -> default",
    }
    assert len(changed["changes"]) == 2
    answer = controller.get(f"{path}/multicast")
    assert not answer["parameters"]["mcast_querier"]
    assert bridge.send(3, frames.ethernet(A, frames.host(9))) == {1}
    assert bridge.send(3, frames.ethernet(B, frames.host(9))) == {2}
    controller.configure("")
    reload(controller)
    assert {entry["mac"] for entry in controller.fdb(bridge, type="static")} == {A}


def test_a_bridge_by_its_name_is_never_reported_anything_else(
    vswitchd: VSwitchd, controller: Controller
) -> None:
    bridge = vswitchd.add_bridge(ports=3)
    controller.configure(
        f"bridges: {{{bridge.name}: {{ports: {{'{bridge.name}p*': {{vlan: 10}}}}}}}}"
    )
    reload(controller)
    controller.connect(bridge)
    held = table(bridge)
    assert bridge.send(1, broadcast(1)) == {2, 3}
    controller.restart()
    controller.wait_ready(bridge)
    assert table(bridge) == held
    assert not controller.bridge(bridge)["counters"].get("mended")
    controller.configure(
        f"bridges: {{{bridge.name}: {{ageing_time: 60}}, '{bridge.dpid16}': {{ageing_time: 90}}}}"
    )
    reload(controller)
    assert controller.bridge(bridge)["ageing_time"] == 90
    assert controller.events("config.ambiguous")[-1]["data"]["entries"] == [
        bridge.dpid16,
        bridge.name,
    ]
    bridge.destroy()


def wait_for_reload(controller: Controller, act: Callable[[], None]) -> dict[str, Any]:
    known = len(controller.events("config.reloaded"))
    act()
    wait_for(lambda: len(controller.events("config.reloaded")) > known, "the file to be read")
    return controller.events("config.reloaded")[-1]


def test_sighup_any_number_of_times(bridge: Bridge, controller: Controller) -> None:
    for seconds in (40, 50, 60):
        configure(controller, bridge, f"{{ageing_time: {seconds}}}")
        event = wait_for_reload(controller, controller.hang_up)
        assert controller.bridge(bridge)["ageing_time"] == seconds
        assert event["message"].startswith(f"the configuration was read: {bridge.name}: ")


def test_a_watched_file_is_read_when_it_changes(bridge: Bridge, controller: Controller) -> None:
    controller.configure("watch: true")
    reload(controller)
    file = f"watch: true\nbridges: {{'{bridge.dpid16}': {{ageing_time: 77}}}}"
    event = wait_for_reload(controller, lambda: controller.configure(file))
    assert event["data"]["bridges"][bridge.dpid16]["changes"] == ["ageing_time: default -> 77"]
    controller.configure("")
    reload(controller)


def test_drop_ins_are_merged_into_the_file(bridge: Bridge, controller: Controller) -> None:
    """Added, wrong, changed and removed: the file is watched with them."""
    controller.configure(
        f"watch: true\nbridges: {{'{bridge.dpid16}': {{ports: {{1: {{vlan: 10}}}}}}}}"
    )
    reload(controller)
    goes(bridge, 1, set())
    drop_in = controller.config_file.with_name(f"{controller.config_file.name}.d") / "more.yaml"
    drop_in.parent.mkdir()

    def write(vlan: object) -> None:
        drop_in.write_text(f"bridges:\n  '{bridge.dpid16}':\n    ports: {{2: {{vlan: {vlan}}}}}\n")

    wait_for_reload(controller, lambda: write(10))
    goes(bridge, 1, {2})
    write("none")
    refused = controller.api("POST", "/v1/config/reload")
    assert refused.status == 409
    assert f"{drop_in}:3:23: " in str(refused.body)
    goes(bridge, 1, {2})
    wait_for_reload(controller, lambda: write(20))
    goes(bridge, 1, set())
    wait_for_reload(controller, drop_in.unlink)
    goes(bridge, 2, {3, 4, LOCAL})
    controller.configure("")
    reload(controller, force=True)


def test_addresses_of_our_own_wait_for_a_restart(bridge: Bridge, controller: Controller) -> None:
    controller.configure("api: {port: 8081}\nchannel: {host: '::'}")
    answer = reload(controller)
    assert answer["restart"] == ["api.port", "channel.host"]
    assert answer["bridges"] == []
    assert "restart" in answer["message"]


@pytest.mark.parametrize(
    "history",
    [
        (
            "{ports: {PORT1: {vlan: 10}, PORT2: {vlan: {trunk: all, native: 1}}}}",
            "{ports: {PORT2: {isolated: true, storm: {broadcast: 100}}, 'PORT*': {vlan: 20}}}",
            "{mirrors: {ids: {to: PORT4, both: [PORT1]}}, ports: {PORT3: {shutdown: true}}}",
        ),
        (
            "{acls: {web: [{match: {tcp_dst: 80}, action: allow}]}, ports: {1: {acl: web}}}",
            "{ports: {PORT1: {locked: true}, PORT2: {sticky: true, fdb_max_learned: 1}}}",
            "{multicast: {mcast_snooping: false}, ports: {PORT1: {hairpin: true, flood: false}}}",
        ),
    ],
)
def test_warm_is_cold(bridge: Bridge, controller: Controller, history: tuple[str, ...]) -> None:
    """After any configuration before, the tables are those of the last file on an empty switch."""
    for own in history:
        configure(controller, bridge, own)
        reload(controller)
    warm = table(bridge)
    bridge.disconnect()
    for command in ("del-flows", "del-groups", "del-meters"):
        bridge.switch.ofctl(command, bridge.name)
    controller.restart()
    controller.connect(bridge)
    assert table(bridge) == warm


def test_a_plan_of_settings_counts_each_change_once_and_is_what_happens(
    bridge: Bridge, controller: Controller
) -> None:
    path = f"/v1/bridges/{bridge.dpid16}/settings"
    members = [f"{bridge.name}p{number}" for number in (3, 4)]

    def change(own: list[str], **query: str) -> Any:
        settings = {"settings": {"lags": {"bond0": {"members": own, "lacp": "off"}}}}
        reply = controller.api("PATCH", path, settings, **query)
        assert reply.status == 200, reply
        return reply.body["planned"]

    def in_use() -> list[str]:
        (lag,) = controller.get(f"/v1/bridges/{bridge.dpid16}/lags")["lags"]
        return [one["name"] for one in lag["members"] if one["distributing"]]

    for own, changes in (
        (members, ["added", *(f"member {name} joins" for name in members)]),
        (members[:1], [f"member {members[1]} leaves"]),
    ):
        before = table(bridge)
        planned = change(own, dry_run="true")
        assert table(bridge) == before
        items = {one["item"]: one for one in planned["items"]}
        assert items["aggregation bond0"]["changes"] == changes
        for kind, count in planned["sent"].items():
            assert sum(one["sent"][kind] for one in planned["items"]) == count
        assert change(own) is None
        wait_for(lambda own=own: in_use() == own, "the members to be used")  # they wait at first
        # A member that leaves is a port again once its switch has confirmed that it left.
        wait_for(lambda own=own: not change(own, dry_run="true")["items"], "nothing left to change")
        assert change(own, dry_run="true") == {"sent": NOTHING, "items": [], "lines": []}


def test_a_rollback_holds_in_the_switch_after_a_restart_until_sighup_reads_the_file(
    bridge: Bridge, controller: Controller
) -> None:
    def versions() -> Any:
        return controller.get("/v1/config/versions")["versions"]

    configure(controller, bridge, "{ports: {PORT1: {vlan: 10}, 2: {vlan: 10}}}")
    reload(controller)
    vlan = versions()[0]["version"]
    configure(controller, bridge, "{ageing_time: 90}")
    reload(controller)
    goes(bridge, 1, {2, 3, 4, LOCAL})
    path = f"/v1/config/versions/{vlan}/rollback"
    planned = controller.api("POST", path, dry_run="true").body["bridges"][0]
    assert planned["items"], "the plan in words of the network"
    bridge.switch.settle()
    assert bridge.send(1, broadcast(1)) == {2, 3, 4, LOCAL}
    assert controller.api("POST", path).status == 200
    goes(bridge, 1, {2})
    controller.restart()
    controller.wait_ready(bridge)
    goes(bridge, 1, {2})
    assert versions()[0]["how"] == f"rollback to version {vlan}"
    problems = controller.get("/v1/problems")["problems"]
    assert "config.rolled-back" in [problem["kind"] for problem in problems]
    controller.hang_up()
    goes(bridge, 1, {2, 3, 4, LOCAL})
    assert versions()[0]["by"] == "SIGHUP"
