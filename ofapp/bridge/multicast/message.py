"""Messages of IGMP, MLD, PIM and MRD, common to both families.

IGMPv1/v2 and MLDv1 reports and leaves become the records that RFC 3376 7.3.2 and RFC 3810 8.3.2
map them to, so the engine knows one kind of report. Plain NamedTuples: each message creates one.
"""

from enum import IntEnum
from typing import NamedTuple

from ofapp.bridge.packet.address import Family
from ofapp.bridge.packet.malformed import Malformed


class RecordType(IntEnum):
    """Group record types (RFC 3376 4.2.12, RFC 3810 5.2.12); the numbers are the wire's."""

    IS_IN = 1
    IS_EX = 2
    TO_IN = 3
    TO_EX = 4
    ALLOW = 5
    BLOCK = 6


class Record(NamedTuple):
    """One group record. `sources` are host addresses without duplicates, in the sender's order."""

    type: int
    group: bytes
    sources: tuple[bytes, ...] = ()


class Report(NamedTuple):
    """A membership report or a leave.

    kind: counter name, e.g. ``igmp_v2_report``, ``mld_v1_leave``.
    version: 1, 2, 3 for IGMP; 1, 2 for MLD.
    host: Ethernet source, which distinguishes the hosts of one port.
    """

    kind: str
    family: Family
    version: int
    host: bytes
    source: bytes
    records: tuple[Record, ...]


class Query(NamedTuple):
    """A query; `group` is the unspecified address in a general one. Times in seconds.

    qrv and qqi are 0 where the version does not carry them.
    """

    kind: str
    family: Family
    version: int
    source: bytes
    group: bytes
    sources: tuple[bytes, ...]
    max_resp: float
    suppress: bool = False
    qrv: int = 0
    qqi: float = 0.0

    @property
    def general(self) -> bool:
        """Whether it asks for every group."""
        return not any(self.group)


class RouterHello(NamedTuple):
    """A multicast router announces itself (PIM hello, MRD advertisement) or leaves (hold 0).

    hold: seconds for which it is valid, None when the message has no time.
    """

    kind: str
    family: Family
    source: bytes
    hold: float | None


class Other(NamedTuple):
    """Valid, but not interpreted here: forwarded as any multicast (RFC 4541 2.1.1(3))."""

    kind: str = "other"


Message = Report | Query | RouterHello | Other | Malformed
