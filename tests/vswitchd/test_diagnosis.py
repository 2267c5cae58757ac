"""`ofapp doctor` says in one sentence why a guest on a real switch has no network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.support import dhcp_frames, frames
from tests.support.controller import Controller
from tests.support.hosts import wait_known
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for

CONFIG = """
defaults: {stp: {enabled: true}}
bridges:
  d1a9:
    mac_move: {moves: 1, window: 300, hold: 300}
    acls: {none: [{name: nothing, action: drop}]}
    ports:
      vnet1: {stp: {admin_edge: true, bpdu_guard: true}}
      vnet2: {stp: {admin_edge: true}, vlan: 20}
      vnet3: {stp: {admin_edge: true}, fdb_max_learned: 1, over_limit: drop}
      vnet4: {stp: {admin_edge: true}, acl: none}
      vnet5: {stp: {admin_edge: true}, shutdown: true}
      "tap*": {trust: guest}
      eth0: {stp: {admin_edge: true}}
    bindings:
    - {port: tap2, mac: "02:00:00:00:00:08", address: 192.0.2.8}
""".replace("d1a9", f"{0xD1A9:016x}")
GUARDED = {7: "tap1", 8: "tap2", 9: "tap3"}
GUEST = "0000aaaa-1111-2222-3333-444455556666"


@pytest.fixture(scope="module")
def guests(
    vswitchd: VSwitchd, controller_factory: Callable[[str], Controller]
) -> tuple[Bridge, Controller]:
    """Ports vnet1 to vnet5, each with another trouble, and eth0."""
    bridge = vswitchd.add_bridge(dpid=0xD1A9)
    for number in range(1, 6):
        bridge.add_port(number, f"vnet{number}")
    bridge.add_port(6, "eth0")
    for number, name in GUARDED.items():
        bridge.add_port(number, name)
    controller = controller_factory(CONFIG)
    return controller.connect(bridge), controller


def doctor(guests: tuple[Bridge, Controller], *words: str) -> subprocess.CompletedProcess[str]:
    """The command, as typed on the machine of the switch."""
    bridge, controller = guests
    command = [sys.executable, "-m", "ofapp", "doctor", *words]
    options = [
        "--api",
        f"http://127.0.0.1:{controller.api_port}",
        "--db",
        f"unix:{bridge.switch.dir}/db.sock",
    ]
    return subprocess.run(
        [*command, *options], capture_output=True, text=True, check=False, env=os.environ
    )


def why(guests: tuple[Bridge, Controller], host: str) -> str:
    """The sentence for the only host that fits."""
    done = doctor(guests, host)
    sentence, fix = done.stdout.splitlines()
    assert done.returncode == 1, done
    assert sentence.startswith("error: ")
    assert fix.startswith("    ")
    return sentence.removeprefix("error: ")


def heard(guests: tuple[Bridge, Controller], number: int, vlan: int = 0) -> str:
    """Let host `number` speak on its port; its address."""
    bridge, controller = guests
    bridge.inject(number, frames.ethernet(frames.BROADCAST, frames.host(number)))
    wait_known(controller, bridge, frames.host(number), number, vlan)
    return frames.host(number)


def test_a_guest_that_nothing_hinders_and_then_bpdu_guard(
    guests: tuple[Bridge, Controller],
) -> None:
    bridge, controller = guests
    mac = heard(guests, 1)
    done = doctor(guests, "vnet1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{bridge.name} vnet1: nothing hinders {mac}\n"
    bridge.send(1, frames.bpdu(mac))
    tree = f"/v1/bridges/{bridge.dpid16}/stp"
    wait_for(lambda: controller.get(tree)["ports"][0]["guards"], "BPDU guard to close the port")
    assert "BPDU guard has closed port vnet1" in why(guests, "vnet1")


def test_a_guest_in_a_vlan_that_no_other_port_is_in(guests: tuple[Bridge, Controller]) -> None:
    mac = heard(guests, 2, vlan=20)
    assert f"no other port in VLAN 20 forwards, so {mac} on port vnet2" in why(guests, mac)


def test_a_guest_whose_address_is_held_down(guests: tuple[Bridge, Controller]) -> None:
    bridge, controller = guests
    mac = frames.host(40)
    held = f"/v1/bridges/{bridge.dpid16}/fdb/held"
    for number in (6, 3):
        bridge.inject(number, frames.ethernet(frames.BROADCAST, mac))
        wait_for(lambda at=number: controller.where(bridge, mac) == at, f"it to be at {number}")
        bridge.switch.settle()
    bridge.inject(6, frames.ethernet(frames.BROADCAST, mac))
    wait_for(lambda: controller.get(held)["held"], "it to be held down")
    done = doctor(guests, mac, "--json")
    assert done.returncode == 1
    problems = [host["problem"] for host in json.loads(done.stdout) if host["problem"]]
    assert [each for each in problems if "is held down on port " in each], problems
    (address,) = controller.get(held)["held"]
    assert controller.api("DELETE", f"{held}/0/{address['mac']}").status in (200, 204)
    controller.flush(bridge)


def test_a_guest_of_which_the_access_list_drops_all(guests: tuple[Bridge, Controller]) -> None:
    guests[0].inject(4, frames.ethernet(frames.BROADCAST, frames.host(4)))
    wait_why(guests, "vnet4", "access list none of port vnet4 has dropped")


def test_a_port_that_is_shut_down_and_one_without_a_link(
    guests: tuple[Bridge, Controller],
) -> None:
    bridge, controller = guests
    assert "port vnet5 is shut down by its configuration" in why(guests, "vnet5")
    bridge.switch.appctl("netdev-dummy/set-admin-state", "vnet3", "down")
    ports = f"/v1/bridges/{bridge.dpid16}/ports/vnet3"
    wait_for(lambda: not controller.get(ports)["up"], "the link to go down")
    assert "port vnet3 has no link" in why(guests, "vnet3")


def test_a_guest_by_what_its_hypervisor_has_written(guests: tuple[Bridge, Controller]) -> None:
    bridge, _ = guests
    bridge.switch.vsctl("set", "Interface", "vnet5", f"external_ids:vm-id={GUEST.upper()}")
    assert "port vnet5 is shut down" in why(guests, GUEST)


def wait_why(guests: tuple[Bridge, Controller], host: str, sentence: str) -> None:
    """Wait until this is why the only host that fits has no network."""
    bridge, controller = guests
    path = f"/v1/bridges/{bridge.dpid16}/diagnosis"

    def said() -> bool:
        hosts = controller.get(path, host=host)["hosts"]
        return any(sentence in (each["problem"] or "") for each in hosts)

    wait_for(said, f"{sentence!r} of {host}", tick=bridge.switch.step)


def test_a_guest_that_claims_the_address_of_another(guests: tuple[Bridge, Controller]) -> None:
    liar = frames.host(7)
    guests[0].inject(7, frames.arp_request(liar, "192.0.2.8"))
    sentence = f"ARP of {liar} for 192.0.2.8 is refused on port tap1 (1 sample, the last "
    wait_why(guests, "tap1", sentence)
    assert "192.0.2.8 is bound to 02:00:00:00:00:08 on port tap2 (file)" in why(guests, "tap1")
    done = doctor(guests, "192.0.2.8")
    assert sentence in done.stdout
    assert "tap2: nothing hinders 02:00:00:00:00:08 with 192.0.2.8" in done.stdout


def test_a_guest_with_an_address_that_it_did_not_get(guests: tuple[Bridge, Controller]) -> None:
    mac = frames.host(9)
    guests[0].inject(9, frames.arp_request(mac, "192.0.2.9"))
    wait_why(guests, mac, "192.0.2.9 has no binding there")
    assert (
        f"ofapp binding add {guests[0].name} {mac} 192.0.2.9 --port tap3"
        in doctor(guests, mac).stdout
    )


def test_a_guest_whose_requests_no_server_answers(guests: tuple[Bridge, Controller]) -> None:
    mac = frames.host(9)
    for number in range(3):
        guests[0].inject(9, dhcp_frames.discover(int(mac.replace(":", ""), 16), 10 + number))
    wait_why(guests, mac, f"{mac} has asked for a lease by DHCP 3 times (the last, discover, ")
    assert "no server has answered; servers may answer on ports " in why(guests, mac)
    assert "eth0" in why(guests, mac)


def test_what_no_bridge_knows(guests: tuple[Bridge, Controller]) -> None:
    for text in ("no-such-guest", "02:00:00:00:99:99", "192.0.2.99"):
        done = doctor(guests, text)
        assert (done.returncode, done.stdout) == (1, "")
        assert "give a bridge, a port, a MAC or IP address" in done.stderr


def test_a_bridge_is_still_examined_as_before(guests: tuple[Bridge, Controller]) -> None:
    done = doctor(guests, guests[0].name, "--json")
    assert all(finding["where"] for finding in json.loads(done.stdout))
