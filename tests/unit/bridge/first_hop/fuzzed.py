"""Frames for fuzzing: valid ones that are cut, extended and changed, and arbitrary octets."""

from hypothesis import strategies as st

from tests.support import dhcp_frames as frames
from tests.support.dhcp_frames import ALL_AGENTS, Arp, ia_na, ia_pd, ip, link_local, option6
from tests.unit.bridge.first_hop.dhcp.test_captures import captures
from tests.unit.bridge.first_hop.guarded import A, B

LEASE = ("2001:db8::7", 3600)
_RELAYED = bytes((frames.RELAY_REPLY, 0)) + bytes(16) + ip(link_local(A))
_INTERFACE = option6(18, b"0000000000000001:tap11")
_INSIDE = option6(9, frames.message6(frames.REPLY, 1, frames.duid(A), ia_na(LEASE)))
VALID = [
    frames.discover(A),
    frames.request(A, "10.0.0.7", vid=7),
    frames.renewal(A, "10.0.0.7"),
    frames.release(A, "10.0.0.7"),
    frames.decline(B, "10.0.0.7"),
    frames.offer(A, "10.0.0.7"),
    frames.ack(A, "10.0.0.7"),
    frames.ack(B, "10.0.0.7", vid=7),
    frames.nak(A),
    frames.request6(A, ia_na(LEASE), ia_pd("2001:db8:1::", 48, 60)),
    frames.request6(B, ia_na(LEASE), kind=frames.RELEASE6, vid=7),
    frames.reply6(A, ia_na(LEASE), ia_pd("2001:db8:1::", 48, 60)),
    frames.from_server6(A, _RELAYED + _INTERFACE + _INSIDE, ports=(547, 547)),
    frames.from_client6(A, bytes((frames.RELAY_FORWARD, 0)) + bytes(32) + _INSIDE, dest=ALL_AGENTS),
    frames.dad(A, "2001:db8::7").frame,
    frames.dad(B, "fe80::7", vid=7).frame,
    frames.solicitation(A, link_local(A), "2001:db8::7").frame,
    frames.advertisement(A, "2001:db8::7").frame,
    frames.router_solicitation(A).frame,
    frames.router_advertisement(A, frames.prefix_option("2001:db8::", 64)).frame,
    Arp(A, "10.0.0.7", "10.0.0.1").frame(),
    Arp(B, "0.0.0.0", "10.0.0.7").frame(vid=7),
    *[frame for each in captures().values() for _, frame in each],
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A valid frame with octets changed, inserted, removed or cut off; mostly still readable."""
    octets = bytearray(draw(st.sampled_from(VALID)))
    places = st.integers(0, len(octets) - 1)
    for at, value in draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=4)):
        octets[at] = value
    if draw(st.booleans()):
        at = draw(places)
        octets[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    if draw(st.booleans()):
        del octets[draw(places) :]
    return bytes(octets)


ANY = st.one_of(mutated(), st.binary(max_size=200))
"""Any frame that a host may send."""
