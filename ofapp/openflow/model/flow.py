"""Flows, groups and meters as values, before they are messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

from ofapp.openflow.model.cookie import make_cookie
from ofapp.openflow.model.rule import Register

VID_MASK = 0x0FFF
TAGGED = 0x1000  # OFPVID_PRESENT
GROUP_BIT = 0x010000000000
ARP, IPV4, IPV6 = 0x0806, 0x0800, 0x86DD
MPLS, MPLS_MULTICAST, NSH = 0x8847, 0x8848, 0x894F
NO_PORT = 0xFFFF  # OFPP_NONE, as registers have it
_BUCKET_OCTETS = 16


@dataclass(frozen=True, slots=True)
class Match:
    """One matched field by its OpenFlow name; mask None for all bits."""

    field: str
    value: int
    mask: int | None = None


def vlan(vid: int) -> Match:
    """The VID whether tagged or not: an untagged frame and a priority tag are both VID 0."""
    return Match("vlan_vid", vid, VID_MASK)


def tagged(vid: int, mask: int = VID_MASK) -> Match:
    """A frame with a tag and a VID out of an aligned block.

    A mask of all bits is none: so a switch reports it.
    """
    return Match("vlan_vid", TAGGED | vid, None if mask == VID_MASK else TAGGED | mask)


def in_port(port: int) -> Match:
    """A frame that came in by a port."""
    return Match("in_port", port)


UNTAGGED = Match("vlan_vid", 0)
PRIORITY_TAGGED = tagged(0)
FROM_GROUP = Match("eth_src", GROUP_BIT, GROUP_BIT)
TO_GROUP = Match("eth_dst", GROUP_BIT, GROUP_BIT)
TO_HOST = Match("eth_dst", 0, GROUP_BIT)
TO_SOLICITED_NODE = Match("eth_dst", 0x3333_FF00_0000, 0xFFFF_FF00_0000)
"""Neighbour solicitations that are not to one host (RFC 4291 2.7.1, RFC 2464 7)."""
TO_ALL = Match("eth_dst", (1 << 48) - 1)
TO_BRIDGES = Match("eth_dst", 0x0180C2000000)
"""The bridge group address: BPDUs (802.1D-2004 7.12.3)."""
SLOW_PROTOCOLS = (Match("eth_dst", 0x0180C2000002), Match("eth_type", 0x8809))
"""LACP and markers (IEEE 802.1AX-2020 6.4.2.1, 802.3-2018 57A)."""
NEAREST_BRIDGE = (Match("eth_dst", 0x0180C200000E), Match("eth_type", 0x88CC))
"""LLDP (IEEE 802.1AB-2016 7.1, 7.2)."""


EAPOL_TYPE = Match("eth_type", 0x888E)
"""802.1X (IEEE 802.1X-2020 11.1.4)."""


def register(name: Register, value: int) -> Match:
    """Match a register that the frame carries (see `Register`)."""
    return Match(f"reg{name.value}", value)


RESTRICTION_BITS = 6
"""Bits of `PortPolicy.restriction`."""


def kept_out(restriction: int) -> Iterator[Match]:
    """Match frames that may not leave by a port with a restriction (`PortPolicy.restriction`).

    From an isolated port, or from another community: some bit of it differs.
    """
    name, community = f"reg{Register.ISOLATED.value}", restriction >> 1
    if restriction and not community:
        yield Match(name, 1, 1)
        return
    for bit in (1 << each for each in range(1, RESTRICTION_BITS)) if restriction else ():
        yield Match(name, 1 | (bit & ~restriction), 1 | bit)


def bits(name: Register, value: int) -> Match:
    """Match those bits of a register that are set in the value; at least one."""
    return Match(f"reg{name.value}", value, value)


@dataclass(frozen=True, slots=True)
class Output:
    """Send the frame out of a port; the switch itself drops output to the ingress port."""

    port: int
    kind: ClassVar[str] = "output"
    octets: ClassVar[int] = 16


@dataclass(frozen=True, slots=True)
class BackOut:
    """Send the frame out of its ingress port (OFPP_IN_PORT)."""

    kind: ClassVar[str] = "output"
    octets: ClassVar[int] = 16


@dataclass(frozen=True, slots=True)
class PushTag:
    """Add a tag with this VID to an untagged frame."""

    vid: int
    kind: ClassVar[str] = "vlan"
    octets: ClassVar[int] = 24


@dataclass(frozen=True, slots=True)
class PushEmptyTag:
    """Add a tag to a frame that may have some, with VID 0 if it has none."""

    kind: ClassVar[str] = "vlan"


@dataclass(frozen=True, slots=True)
class SetVid:
    """Set the VID of the tag that the frame has."""

    vid: int
    kind: ClassVar[str] = "vlan"
    octets: ClassVar[int] = 16


@dataclass(frozen=True, slots=True)
class PopTag:
    """Remove the frame's tag."""

    kind: ClassVar[str] = "vlan"
    octets: ClassVar[int] = 8


@dataclass(frozen=True, slots=True)
class SetRegister:
    """Set a register, which the frame carries from here on."""

    register: Register
    value: int
    kind: ClassVar[str] = "register"
    octets: ClassVar[int] = 16


@dataclass(frozen=True, slots=True)
class CopyField:
    """Copy a field of the frame to a register, or to as many as it takes.

    A MAC address leaves the upper 16 bits of its two registers as they are.
    """

    field: str
    register: Register
    kind: ClassVar[str] = "register"


@dataclass(frozen=True, slots=True)
class Resubmit:
    """Look the frame up in another table, and return; buckets use it, as they have no goto."""

    table: int
    kind: ClassVar[str] = "resubmit"
    octets: ClassVar[int] = 16


@dataclass(frozen=True, slots=True)
class ToGroup:
    """Send the frame through a group."""

    group: int
    kind: ClassVar[str] = "group"
    octets: ClassVar[int] = 8


@dataclass(frozen=True, slots=True)
class SetInPort:
    """Set the ingress port of the frame."""

    port: int
    kind: ClassVar[str] = "in-port"


@dataclass(frozen=True, slots=True)
class Choose:
    """Send the frame out of one of the ports that are live, which the switch itself monitors.

    ports: the flows of one do not move when another ceases to be live; hash: see `LagParams`;
    basis: seeds the hash.
    """

    ports: tuple[int, ...]
    hash: str
    basis: int
    kind: ClassVar[str] = "choose"


@dataclass(frozen=True, slots=True)
class ToController:
    """A copy of the first `max_len` bytes to the controller; `meter` limits the copy alone."""

    max_len: int
    meter: int | None
    kind: ClassVar[str] = "controller"


@dataclass(frozen=True, slots=True)
class ChooseInto:
    """Set a register to one of the ports that are live, or to `NO_PORT` if none is.

    The switch chooses by a hash of the Ethernet source, or, without a basis, the first live one.
    """

    ports: tuple[int, ...]
    basis: int | None
    register: Register
    kind: ClassVar[str] = "choose"


@dataclass(frozen=True, slots=True)
class OutputRegister:
    """Send the frame out of the port whose number is in a register."""

    register: Register
    kind: ClassVar[str] = "output"


@dataclass(frozen=True, slots=True)
class Hash:
    """Set a register to a hash of the addresses and ports that is equal in both directions.

    values: how many; a power of two.
    """

    register: Register
    values: int
    kind: ClassVar[str] = "hash"


@dataclass(frozen=True, slots=True)
class Track:
    """Look the frame up among the connections of a zone, or remember its connection there.

    zone: the register that has the zone, of 16 bits.
    table: where the frame goes on with the state of its connection, as a later pass.  None: the
    connection is remembered, and the frame goes on in this pass.
    """

    zone: Register
    table: int | None
    kind: ClassVar[str] = "track"


@dataclass(frozen=True, slots=True)
class Encapsulate:
    """Put the frame into another Ethernet frame, as an MPLS packet: MAC-in-MAC.

    Open vSwitch has no other header for this whose contents can be matched after `Decapsulate`.

    labelled: for a frame with MPLS labels, as the content of a network service header (NSH, RFC
    8300), which has four octets more.  As an MPLS packet it ends Open vSwitch 3.1: an assertion
    fails in push_eth() [measured].
    """

    labelled: bool = False
    kind: ClassVar[str] = "encapsulate"


@dataclass(frozen=True, slots=True)
class Decapsulate:
    """Take the frame out of such a frame."""

    kind: ClassVar[str] = "decapsulate"


@dataclass(frozen=True, slots=True)
class Clone:
    """Apply actions to a copy of the frame and its registers; the frame itself goes on as it is.

    Open vSwitch copies the frame only for a clone that itself has an action such as `Encapsulate`
    or `Separate`.
    """

    actions: tuple[Action, ...]
    kind: ClassVar[str] = "clone"


@dataclass(frozen=True, slots=True)
class Separate:
    """Send nothing, and have the `Clone` that ends with it be a separate copy of the frame.

    A meter that drops a frame also drops all that the switch would do with it afterwards.  What it
    drops in a separate copy is the copy alone.  The action is an output of a part of the frame,
    which is no reversible action, to a port that no switch has.
    """

    kind: ClassVar[str] = "clone"


class Bits(NamedTuple):
    """Some bits of a field; first: the least significant of them."""

    field: str
    first: int
    size: int


@dataclass(frozen=True, slots=True)
class SetBits:
    """Set bits of an Ethernet address or a register, or all of a field."""

    bits: Bits
    value: int
    kind: ClassVar[str] = "address"


@dataclass(frozen=True, slots=True)
class MoveBits:
    """Copy bits of a header's field to a register, or of a register to a field."""

    source: Bits
    to: Bits
    kind: ClassVar[str] = "address"


Forwarding = Output | BackOut | PushTag | SetVid | PopTag | SetRegister | Resubmit | ToGroup
"""Actions of a group's bucket; each class has its size in a message, octets."""
Action = (
    Forwarding
    | SetInPort
    | CopyField
    | Choose
    | ChooseInto
    | OutputRegister
    | Hash
    | Encapsulate
    | Decapsulate
    | PushEmptyTag
    | Clone
    | Separate
    | SetBits
    | MoveBits
    | ToController
    | Track
)

Bucket = tuple[Forwarding, ...]


@dataclass(frozen=True)
class Flow:
    """One flow: where it is, what it matches, what it does.  It is shared, and so are its messages.

    meter: drops what is above its rate before anything else happens, None for no limit.
    notify_removal: the switch sends FLOW_REMOVED when it is deleted, or has expired.
    recount: a change of it resets its counters, so that they count for as long as its age says.
    """

    table: int
    priority: int
    match: tuple[Match, ...]
    feature: int
    actions: tuple[Action, ...] = ()
    goto: int | None = None
    serial: int = 0
    idle_timeout: int = 0
    hard_timeout: int = 0
    notify_removal: bool = True
    meter: int | None = None
    recount: bool = False

    @property
    def cookie(self) -> int:
        """The flow's cookie, of the generation of this code."""
        return make_cookie(self.feature, self.serial)

    @cached_property
    def identity(self) -> Identity:
        """Identity of a flow, independent of its actions."""
        return self.table, self.priority, frozenset(self.match)

    def __hash__(self) -> int:
        return hash(self.identity)


Identity = tuple[int, int, frozenset[Match]]


@dataclass(frozen=True, slots=True)
class Group:
    """A group of type ALL: a copy through each bucket."""

    id: int
    buckets: frozenset[Bucket]

    @property
    def octets(self) -> int:
        """Size of its buckets in a message, octets (OpenFlow 1.3.5, 7.2.5 and A.3.4.2)."""
        return sum(
            _BUCKET_OCTETS + sum(action.octets for action in bucket) for bucket in self.buckets
        )

    @property
    def ports(self) -> frozenset[int]:
        """The ports that its frames are for; a policy may yet keep a frame from one."""
        return frozenset(
            action.port if isinstance(action, Output) else action.value
            for bucket in self.buckets
            for action in bucket
            if isinstance(action, Output)
            or (isinstance(action, SetRegister) and action.register is Register.EGRESS)
        )


@dataclass(frozen=True, slots=True)
class Meter:
    """A meter that drops what is above `rate` packets a second, or kbit/s where `kbps` says so."""

    id: int
    rate: int
    kbps: bool = False
