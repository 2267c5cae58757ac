"""The file is read again while hosts talk: those it is not about lose nothing."""

from __future__ import annotations

from tests.support.lab import Lab, Stream
from tests.support.waiting import wait_for


def test_no_reload_costs_a_frame_between_hosts_it_is_not_about(network, controller):
    lab = network(Lab.single, 4)
    assert lab.unreachable() == []
    third, fourth = lab.hosts[2:]
    for host in lab.hosts:
        wait_for(lambda host=host: controller.where(lab.switches[0], host.mac), "the hosts")
    switch = lab.switches[0].dpid16
    for ports in (
        {third.plug: "{vlan: 10}", fourth.plug: "{vlan: 10}"},
        {third.plug: "{vlan: {trunk: [10, 20], native: 20}}", fourth.plug: "{isolated: true}"},
        {third.plug: "{storm: {broadcast: 50}, bcast_flood: false, acl: web}"},
        {third.plug: "{shutdown: true}", fourth.plug: "{locked: true}"},
    ):
        parts = ", ".join(f"{name}: {own}" for name, own in ports.items())
        own = f"bridges: {{'{switch}': {{ports: {{{parts}}}, acls: {{web: [{{action: allow}}]}}}}}}"
        assert lost_in(controller, lab, own) == 0, parts
    assert lab.unreachable() == []


def lost_in(controller, lab: Lab, own: str) -> int:
    """Frames lost between the first two hosts while the file is changed and changed back."""
    one, other = lab.hosts[:2]
    with Stream(one, other) as there, Stream(other, one) as back:
        there.more(20)
        for config in (own, ""):
            controller.configure(config)
            reply = controller.api("POST", "/v1/config/reload")
            assert reply.status == 200, reply
            there.more(20)
        lost = there.lost(), back.lost()
        print(f"frames lost: {lost[0]} of {there.sent}, {lost[1]} of {back.sent}")
    return sum(lost)


def test_a_host_that_a_reload_is_about_notices_at_once(network, controller):
    lab = network(Lab.single, 3)
    one, other, third = lab.hosts
    assert one.reaches(other.ip)
    controller.configure(
        f"bridges: {{'{lab.switches[0].dpid16}':"
        f" {{ports: {{{one.plug}: {{isolated: true}}, {other.plug}: {{isolated: true}}}}}}}}"
    )
    assert controller.api("POST", "/v1/config/reload").status == 200
    wait_for(lambda: not one.reaches(other.ip, 1), "isolation", seconds=3)
    assert one.reaches(third.ip)
    controller.configure("")
    assert controller.api("POST", "/v1/config/reload").status == 200
    # One frame may still meet what the datapath has in its cache.
    wait_for(lambda: one.reaches(other.ip, 1), "isolation to end", seconds=3)
