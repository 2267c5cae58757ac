"""Priorities on a real switch: what ports trust, what access lists set, and what leaves by a trunk.

Each is looked at frame by frame, as (PCP, DSCP) of what leaves; None without a tag or an IP header.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support import frames
from tests.support.acl_oracle import Frame
from tests.support.controller import Controller
from tests.support.ovs import Bridge, VSwitchd

A, B = frames.host(1), frames.host(2)
VLANS, PLAIN = 0x71, 0x72
ACCESS, TRUNK, UPLINK = "vlan: 7", "vlan: {trunk: [7, 8], native: 8}", "vlan: {trunk: [7, 8]}"
CONFIG = f"""
defaults: {{mac_move: {{moves: 0}}}}
bridges:
  "{VLANS:016x}":
    acls:
      voice:
        - {{match: {{udp_dst: 5060}}, set: {{dscp: 46, pcp: 5}}}}
        - {{match: {{eth_type: 0x88b5}}, set: {{pcp: 1}}}}
        - {{action: allow}}
    ports:
      1: {{{ACCESS}, qos_trust: none, priority: 3}}
      2: {{{ACCESS}, qos_trust: dscp, priority: 2}}
      3: {{{TRUNK}, qos_trust: pcp, priority: 1}}
      4: {{{TRUNK}, priority: 6}}
      5: {{{ACCESS}, acl: voice}}
      6: {{{UPLINK}}}
  "{PLAIN:016x}":
    acls: {{low: [{{action: allow, set: {{pcp: 1}}}}]}}
    ports:
      1: {{qos_trust: none, priority: 3}}
      2: {{qos_trust: pcp, priority: 4}}
      3: {{qos_trust: dscp, priority: 2}}
      4: {{acl: low}}
"""

VOICE = Frame(A, B, 0x0800, ip=("10.0.0.1", "10.0.0.2"), proto=17, dscp=46, ports=(1, 9))
SIX = replace(VOICE, eth_type=0x86DD, ip=("fd00::1", "fd00::2"))
OTHER = Frame(A, B, 0x88B5)


pytestmark = pytest.mark.controller(CONFIG)


@pytest.fixture(scope="module")
def vlans(vswitchd: VSwitchd, controller: Controller) -> Bridge:
    return controller.connect(vswitchd.add_bridge(dpid=VLANS, ports=6))


@pytest.fixture(scope="module")
def plain(vswitchd: VSwitchd, controller: Controller) -> Bridge:
    return controller.connect(vswitchd.add_bridge(dpid=PLAIN, ports=5))


def left(bridge: Bridge, port: int, frame: Frame, by: int) -> frames.Marks:
    """The marks of the one frame that leaves by port `by`."""
    bridge.sent(by)
    bridge.inject(port, frame.data())
    (sent,) = bridge.sent(by)
    return frames.marks(sent)


@pytest.mark.parametrize("packet", [VOICE, SIX], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize(
    ("port", "tag", "wanted"),
    [
        pytest.param(1, {}, (3, 24), id="none: PCP and DSCP of the priority"),
        pytest.param(1, {"vid": 0, "pcp": 7}, (3, 24), id="none: of a priority tag, too"),
        pytest.param(2, {}, (5, 46), id="dscp: the PCP is its upper bits"),
        pytest.param(2, {"vid": 0, "pcp": 7}, (5, 46), id="dscp: not the PCP that came"),
        pytest.param(3, {"vid": 7, "pcp": 6}, (6, 48), id="pcp: the DSCP is the class"),
        pytest.param(3, {}, (1, 8), id="pcp: the priority of a frame without a tag"),
        pytest.param(4, {"vid": 7, "pcp": 4}, (4, 46), id="both stay"),
        pytest.param(4, {}, (6, 46), id="both: a frame without a tag gets the priority"),
        pytest.param(4, {"vid": 0, "pcp": 2}, (2, 46), id="both: a priority tag has its own"),
        pytest.param(6, {"vid": 7, "pcp": 4}, (4, 46), id="a port without any of it"),
    ],
)
def test_what_a_port_trusts_leaves_by_a_trunk(
    vlans: Bridge, port: int, tag: dict[str, int], wanted: frames.Marks, packet: Frame
) -> None:
    by = 6 if port != 6 else 4
    assert left(vlans, port, replace(packet, **tag), by) == wanted


def test_frames_without_ip_have_a_pcp_alone(vlans: Bridge) -> None:
    found = {port: left(vlans, port, OTHER, 6) for port in (1, 2, 3, 4)}
    assert found == {1: (3, None), 2: (2, None), 3: (1, None), 4: (6, None)}
    assert left(vlans, 3, replace(OTHER, vid=7, pcp=5), 6) == (5, None)


def test_a_port_whose_vlan_leaves_untagged_gets_the_dscp(vlans: Bridge) -> None:
    assert left(vlans, 1, VOICE, 2) == (None, 24)
    assert left(vlans, 3, replace(VOICE, vid=7, pcp=2), 1) == (None, 16)


def test_an_access_list_sets_both(vlans: Bridge) -> None:
    assert left(vlans, 5, replace(VOICE, dscp=0, ports=(1, 5060)), 6) == (5, 46)
    assert left(vlans, 5, replace(VOICE, dscp=10), 6) == (0, 10)
    assert left(vlans, 5, OTHER, 6) == (1, None)
    assert left(vlans, 5, replace(VOICE, dscp=0, ports=(1, 5060)), 1) == (None, 46)


def test_without_vlans_tags_pass_and_none_is_added(plain: Bridge) -> None:
    for packet in (VOICE, SIX):
        tagged = replace(packet, vid=9, pcp=6)
        found = {
            port: (left(plain, port, packet, 5), left(plain, port, tagged, 5))
            for port in (1, 2, 3, 4)
        }
        assert found == {
            1: ((None, 24), (3, 24)),
            2: ((None, 32), (6, 48)),
            3: ((None, 46), (5, 46)),
            4: ((None, 46), (1, 46)),
        }
    for port in (1, 2, 3, 4):
        plain.sent(5)
        plain.inject(port, OTHER.data())
        assert plain.sent(5) == [OTHER.data()]


def test_a_change_holds_for_the_next_frame(vlans: Bridge, controller: Controller) -> None:
    path = f"/v1/bridges/{vlans.dpid16}/ports/{vlans.port_name(6)}"
    frame = replace(VOICE, vid=7, pcp=4)
    for change, wanted in (
        ({"qos_trust": "none", "priority": 1}, (1, 8)),
        ({"qos_trust": "dscp"}, (5, 46)),
        ({"qos_trust": "both", "priority": 0}, (4, 46)),
    ):
        assert controller.api("PATCH", path, change).status == 200
        assert left(vlans, 6, frame, 4) == wanted
    for wrong in ({"priority": 8}, {"qos_trust": "cos"}):
        assert controller.api("PATCH", path, wrong).status == 422
