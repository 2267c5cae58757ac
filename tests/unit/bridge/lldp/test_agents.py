"""LLDP through whole bridges, in virtual time: IEEE 802.1AB-2016 clause 9."""

import itertools
from dataclasses import replace

import pytest

from ofapp.api.resources.topology import Around
from ofapp.bridge.desired import Desired
from ofapp.bridge.effects import SendFrame, SetTrap
from ofapp.bridge.input_error import InputError
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.lldp import BridgeParams, OwnAgents, PortParams, Relative, Sender
from ofapp.bridge.lldp.information import VlanName
from ofapp.bridge.lldp.tlv import Type, tlv
from ofapp.bridge.params.params import PortParams as AllOfAPort
from ofapp.bridge.params.policy import PortPolicy
from ofapp.bridge.ports.vlan import trunk
from ofapp.controller.topology import Link, Surroundings, surroundings, topology
from tests.unit.bridge.lldp.lab import Lab, pdu, port_params, ports_of

CABLE = [((1, 1), (2, 1))]


def trapped(desired: Desired) -> tuple[int, ...]:
    """The ports whose LLDP goes to the controller."""
    return tuple(trap.port for trap in desired.protocols["lldp"])


def test_two_bridges_know_each_other_by_what_they_say() -> None:
    lab = Lab(cables=CABLE)
    lab.until(0.0)
    (known,) = lab.neighbours((1, 1))
    said = known.said
    assert said.chassis.spoken("chassis") == "02:00:00:00:02:00"
    assert (said.port.spoken("port"), said.system_name, said.ttl) == ("p1", "br2", 121)
    assert (said.addresses, said.enabled) == (("02:00:00:00:02:00",), 1 << 2)
    assert said.port_description == "p1"
    assert known.sender == Sender(2, 1)
    assert [one.sender for one in lab.neighbours((2, 1))] == [Sender(1, 1)]


def test_frames_leave_each_interval_and_after_a_new_neighbour_four_times_fast() -> None:
    lab = Lab(1)
    lab.until(100.0)
    times = lab.times((1, 1))
    assert times[0] == 0.0
    assert all(27 <= b - a <= 30 for a, b in itertools.pairwise(times))
    lab.hear((1, 1), pdu())
    lab.until(109.0)
    assert [when for when in lab.times((1, 1)) if when >= 100] == [100, 101, 102, 103]
    lab.until(160.0)
    after = next(when for when in lab.times((1, 1)) if when > 103)
    assert 27 <= after - 103 <= 30


def test_ports_do_not_all_speak_at_the_same_instant() -> None:
    lab = Lab(1)
    lab.until(200.0)
    last = {lab.times((1, port))[-1] for port in (1, 2, 3)}
    assert len(last) == 3


def test_changes_are_reported_at_once_but_no_faster_than_credit_comes() -> None:
    lab = Lab(1)
    lab.until(10.0)
    for number in range(20):
        lab.configure(1, lldp=BridgeParams(tx_interval=30 + number))
        lab.until(10.0)
    assert len([when for when in lab.times((1, 1)) if when == 10.0]) == 5
    lab.until(12.5)
    assert len([when for when in lab.times((1, 1)) if when > 10]) == 1  # the last change


def test_a_neighbour_is_forgotten_when_its_time_is_over() -> None:
    lab = Lab(1)
    lab.hear((1, 2), pdu(ttl=50))
    lab.until(49.9)
    assert len(lab.neighbours((1, 2))) == 1
    lab.hear((1, 2), pdu(ttl=50))
    lab.until(99.8)
    assert len(lab.neighbours((1, 2))) == 1
    lab.until(100.0)
    assert lab.neighbours((1, 2)) == []
    assert lab.counters((1, 2))["ageouts"] == 1
    assert lab.kinds() == ["lldp.neighbour", "lldp.neighbour.gone"]


def test_who_says_that_it_goes_has_gone() -> None:
    lab = Lab(1)
    lab.hear((1, 2), pdu())
    lab.hear((1, 2), pdu(ttl=0))
    assert lab.neighbours((1, 2)) == []
    lab.hear((1, 2), pdu(ttl=0))
    assert lab.kinds() == ["lldp.neighbour", "lldp.neighbour.gone"]


def test_who_says_something_else_has_changed() -> None:
    lab = Lab(1)
    for name in (b"one", b"one", b"two"):
        lab.hear((1, 2), pdu(tlv(Type.SYSTEM_NAME, name)))
    assert lab.kinds() == ["lldp.neighbour", "lldp.neighbour.changed"]
    (known,) = lab.neighbours((1, 2))
    assert known.said.system_name == "two"


def test_a_cable_that_is_pulled_is_no_link_any_more() -> None:
    lab = Lab(cables=CABLE)
    lab.until(1.0)
    down = replace(ports_of(1)[1], up=False)
    lab.carry(1, lab.bridges[1].put_port(down, lab.now))
    assert lab.neighbours((1, 1)) == []
    lab.until(200.0)
    assert not [when for when in lab.times((1, 1)) if when > 5]
    lab.carry(1, lab.bridges[1].put_port(ports_of(1)[1], lab.now))
    lab.until(200.0)
    assert lab.times((1, 1))[-1] == 200.0  # at once, and the other one answers fast
    assert len(lab.neighbours((1, 1))) == 1


def test_turned_off_the_neighbours_are_reported_and_after_a_while_it_begins_again() -> None:
    lab = Lab(cables=CABLE)
    lab.until(60.0)
    lab.configure(1, lldp=None)
    assert lab.neighbours((2, 1)) == []  # the notified one
    assert trapped(lab.bridges[1].desired()) == ()
    lab.until(60.5)
    count = len(lab.times((1, 1)))
    lab.configure(1, lldp=BridgeParams())
    assert trapped(lab.bridges[1].desired()) == (1, 2, 3)
    lab.until(61.9)
    assert len(lab.times((1, 1))) == count
    lab.until(62.0)
    assert len(lab.neighbours((2, 1))) == 1


@pytest.mark.parametrize(
    "port",
    [
        port_params(enabled=False),
        AllOfAPort(policy=PortPolicy(shutdown=True)),
        AllOfAPort(policy=PortPolicy(monitor=True)),
    ],
)
def test_a_port_that_is_off_says_nothing_and_hears_nothing(port: AllOfAPort) -> None:
    lab = Lab(cables=CABLE)
    lab.until(1.0)
    lab.configure(1, ports={"p1": port})
    assert lab.neighbours((2, 1)) == []
    lab.hear((1, 1), pdu())
    lab.until(100.0)
    assert lab.neighbours((1, 1)) == []
    assert not [when for when in lab.times((1, 1)) if when > 5]
    assert trapped(lab.bridges[1].desired()) == (2, 3)


def test_a_port_that_goes_takes_its_flow_with_it() -> None:
    lab = Lab(1)
    effects = lab.bridges[1].remove_port(2, 1.0)
    assert SetTrap("lldp", 2, False) in effects
    assert not [effect for effect in effects if isinstance(effect, SendFrame)]
    assert trapped(lab.bridges[1].desired()) == (1, 3)


def test_a_bridge_without_it_says_nothing() -> None:
    lab = Lab(1)
    quiet = Lab(1)
    quiet.configure(1, lldp=None)
    bridge = quiet.bridges[1]
    assert not bridge.hear("lldp", [(1, pdu())], 1.0)
    assert bridge.lldp.status(1.0) == ()
    assert trapped(bridge.desired()) == ()
    wanted = replace(lab.bridges[1].params, lldp=None)
    assert trapped(lab.bridges[1].desired(wanted)) == ()  # a dry run


def test_members_of_an_aggregation_speak_for_themselves() -> None:
    lab = Lab(cables=[*CABLE, ((1, 2), (2, 2))], lags={"lag0": LagParams(("p1", "p2"), "off")})
    lab.until(1.0)
    assert [len(lab.neighbours((1, port))) for port in (1, 2)] == [1, 1]
    assert trapped(lab.bridges[1].desired()) == (1, 2, 3)
    lab.configure(1, ports={"lag0": port_params(enabled=False)})
    assert trapped(lab.bridges[1].desired()) == (3,)


def test_vlans_and_their_names_are_reported() -> None:
    own = AllOfAPort(vlans=trunk(frozenset({10, 20}), 20))
    names = {10: "office", 30: "elsewhere"}
    lab = Lab(cables=CABLE, ports={"p1": own}, vlan_names=names)
    lab.until(0.0)
    (known,) = lab.neighbours((2, 1))
    assert (known.said.pvid, known.said.vlans) == (20, (VlanName(10, "office"),))


def test_the_management_address_is_reported() -> None:
    lab = Lab(cables=CABLE)
    lab.configure(1, lldp=BridgeParams(management_address="2001:db8::1"))
    lab.until(1.0)
    (known,) = lab.neighbours((2, 1))
    assert known.said.addresses == ("2001:db8::1",)


def test_a_switch_that_is_away_says_nothing_and_is_heard_of_when_it_is_back() -> None:
    lab = Lab(cables=CABLE)
    lab.until(1.0)
    lab.bridges[1].pause(lab.now)
    lab.until(60.0)
    assert not [when for when in lab.times((1, 1)) if when > 5]
    lab.bridges[1].resume(lab.now)
    lab.until(60.0)
    assert lab.times((1, 1))[-1] == 60.0


# Too many


def test_too_many_neighbours_are_refused_counted_and_reported_once() -> None:
    lab = Lab(1)
    for number in range(20):
        lab.hear((1, 1), pdu(chassis=b"\x07" + bytes((number,)), ttl=100))
    assert len(lab.neighbours((1, 1))) == 8
    assert lab.counters((1, 1))["too_many"] == 12
    assert lab.kinds().count("lldp.limit") == 1
    lab.until(100.0)
    assert lab.kinds().count("lldp.limit.cleared") == 1
    assert lab.neighbours((1, 1)) == []
    lab.hear((1, 1), pdu())
    assert len(lab.neighbours((1, 1))) == 1


def test_one_port_cannot_fill_the_log() -> None:
    lab = Lab(1)
    for number in range(1000):
        lab.hear((1, 1), pdu(tlv(Type.SYSTEM_NAME, str(number).encode())))
    assert len(lab.kinds()) == 10
    assert lab.counters((1, 1))["untold"] == 990


# What proves to be whose


def test_a_frame_that_a_host_made_up_is_not_one_of_ours() -> None:
    lab = Lab(cables=CABLE)
    lab.until(1.0)
    frame = next(frame for _, end, frame in lab.sent if end == (2, 1))
    forged = frame.replace(b"br2", b"br9")
    lab.hear((1, 3), forged)
    assert lab.neighbours((1, 3)) == []
    assert lab.counters((1, 3))["forged"] == 1
    assert "lldp.forged" in lab.kinds()


def test_an_old_frame_proves_nothing() -> None:
    lab = Lab(cables=CABLE)
    lab.until(1.0)
    recorded = next(frame for _, end, frame in lab.sent if end == (2, 1))
    lab.until(100.0)
    lab.hear((1, 3), recorded)
    assert lab.neighbours((1, 3)) == []
    assert lab.counters((1, 3))["stale"] == 1
    assert len(lab.neighbours((1, 1))) == 1
    lab.hear((1, 1), recorded)  # nor does it spoil what is known
    assert [known.sender for known in lab.neighbours((1, 1))] == [Sender(2, 1)]


def test_what_a_switch_said_before_it_went_away_proves_nothing() -> None:
    lab = Lab(cables=CABLE)
    lab.until(1.0)
    recorded = [frame for _, end, frame in lab.sent if end == (2, 1)][-1]
    lab.bridges[2].pause(lab.now)
    lab.hear((1, 3), recorded)
    assert lab.neighbours((1, 3)) == []


def test_who_passes_frames_on_one_way_makes_no_link() -> None:
    """The fresh frame of a port, at another one: it is known who sent it, and no link follows."""
    lab = Lab(3)
    lab.until(1.0)
    fresh = [frame for _, end, frame in lab.sent if end == (2, 1)][-1]
    lab.hear((1, 3), fresh)
    assert [known.sender for known in lab.neighbours((1, 3))] == [Sender(2, 1)]
    assert links(lab) == []
    back = [frame for _, end, frame in lab.sent if end == (1, 3)][-1]
    lab.hear((2, 1), back)  # and both ways it is a cable
    assert len(links(lab)) == 1


def links(lab: Lab) -> list[Link]:
    """Those of the map."""
    return topology(surroundings(own, True, lab.now) for own in lab.bridges.values()).links


def members() -> list[OwnAgents]:
    """Of two members of a cluster."""
    return [OwnAgents(b"shared", life) for life in (1, 2)]


def surroundings_of(lab: Lab) -> list[Surroundings]:
    """What is around the bridges, as another member reads it."""
    known = [surroundings(bridge, True, lab.now) for bridge in lab.bridges.values()]
    sent = Around(bridges=known).model_dump_json()
    assert Around.model_validate_json(sent).bridges == known
    return Around.model_validate_json(sent).bridges


def test_members_of_a_cluster_have_one_map() -> None:
    lab = Lab(cables=CABLE, agents=members())
    lab.until(1.0)
    lab.hear((1, 3), pdu(port=b"\x05\xff\x80"))  # a guest whose name is no text
    (heard,) = lab.neighbours((1, 1))
    assert isinstance(heard.sender, Relative)
    assert heard.sender.sender == Sender(2, 1)
    one, other = surroundings_of(lab)
    found = topology([one, other])
    assert [(link.a, link.b, link.source) for link in found.links] == [((1, 1), (2, 1), "lldp")]
    assert [known.at for known in found.neighbours] == [(1, 3)]
    alone = topology([one])  # the other member is silent: its bridge is no stranger
    assert (alone.links, [known.at for known in alone.neighbours]) == ([], [(1, 3)])


def test_an_old_frame_of_another_member_proves_nothing() -> None:
    lab = Lab(agents=members())
    lab.until(1.0)
    recorded = {end: frame for _, end, frame in lab.sent}
    lab.until(400.0)
    lab.hear((1, 3), recorded[2, 3])
    lab.hear((2, 3), recorded[1, 3])
    assert topology(surroundings_of(lab)).links == []
    for _, end, frame in lab.sent:
        recorded[end] = frame
    lab.hear((1, 3), recorded[2, 3])
    lab.hear((2, 3), recorded[1, 3])
    assert (
        len(topology(surroundings_of(lab)).links) == 1
    )  # who passes it on both ways at once is a cable
    lab.bridges[2].pause(lab.now)
    assert topology(surroundings_of(lab)).links == []


def test_another_controllers_bridge_is_a_neighbour_and_no_forger() -> None:
    ours, theirs = Lab(1), Lab(1)
    theirs.shared.of(OwnAgents)._key, theirs.shared.of(OwnAgents)._number = b"other", b"otherkey"
    theirs.until(40.0)
    frame = theirs.sent[-1][2]
    ours.hear((1, 1), frame)
    assert [known.sender for known in ours.neighbours((1, 1))] == [None]
    assert "forged" not in ours.counters((1, 1))


def test_what_comes_back_is_no_neighbour() -> None:
    lab = Lab(1)
    lab.until(0.0)
    _, _, frame = next(one for one in lab.sent if one[1] == (1, 1))
    lab.hear((1, 1), frame)
    assert lab.neighbours((1, 1)) == []


def test_a_parameter_that_is_none_is_refused() -> None:
    for wrong in ({"tx_interval": 0}, {"management_address": "here"}):
        with pytest.raises(InputError) as error:
            BridgeParams(**wrong)  # type: ignore[arg-type]
        assert error.value.field in wrong
    assert PortParams().enabled
