"""Errors of a switch: each is matched to the message it refuses, counted and reported.

An error carries the beginning of the message that it is about (OpenFlow 1.3.5, 7.4.4), which says
what it was; nothing needs to be remembered of what was sent.  A refusal stands until a look at the
switch finds nothing refused any more.  A table that is full refuses every new host, so for those
it must also have been quiet for a while: else there would be an event every second.
"""

import struct
from collections import Counter
from typing import Any, NamedTuple

from ofapp.bridge.event import Event, Severity
from ofapp.openflow.model.cookie import LEARNED_BIT, Feature, parse_cookie
from ofapp.openflow.pipeline.tables import NAMES
from ofapp.openflow.wire.events import OPENFLOW_REFUSED, OPENFLOW_REFUSED_CLEARED
from ofapp.openflow.wire.messages import bundle
from ofapp.osken import ofp

QUIET = 60.0
"""Seconds without another refusal after which what hosts bring about is over."""
KINDS = 32
"""Kinds that are distinguished; a switch can invent any number of errors."""

_ERROR = struct.Struct("!HH")
_EXPERIMENTER = 0xFFFF
_FLOW_MOD = struct.Struct("!8xQ8xBB")  # cookie, table, command
_GROUP_MOD = struct.Struct("!8xH2xI")  # command, group
_METER_MOD = struct.Struct("!8xH2xI")  # command, meter
_DELETES = (ofp.OFPFC_DELETE, ofp.OFPFC_DELETE_STRICT)


class Refusal(NamedTuple):
    """One error.

    part: what kind of thing was refused, as counters call it.  what, why: in words.
    holds: whether the switch lacks, or keeps, something that it should not, now.
    learned: whether it is about a learned address.
    feature: feature of the flow that was refused, None if it is none of ours or no flow.
    full: whether the switch has no room for it.
    """

    part: str
    what: str
    why: str
    holds: bool = True
    learned: bool = False
    feature: int | None = None
    full: bool = False


def read_refusal(error: bytes) -> Refusal:
    """Read an OFPT_ERROR; ValueError when it is cut short."""
    try:
        type_, code = _ERROR.unpack_from(error, 8)
        if type_ == _EXPERIMENTER:
            return _about(error[16:], f"experimenter error {code}")
        refusal = _about(error[12:], _words(type_, code))
        return refusal._replace(full=(type_, code) in _FULL)
    except struct.error as fault:
        raise ValueError("an error that is cut short") from fault


def _about(sent: bytes, why: str) -> Refusal:
    kind = sent[1] if len(sent) > 1 else None
    if kind == ofp.OFPT_FLOW_MOD:
        cookie, table, command = _FLOW_MOD.unpack_from(sent)
        known = parse_cookie(cookie)
        feature = None if known is None else known.feature
        of = "of another feature" if feature is None else _feature(feature)
        name = NAMES.get(table, table)
        which = "the removal of a flow" if command in _DELETES else "a flow"
        what = f"{which} of table {name} ({of})"
        return Refusal("flow_mods", what, why, True, bool(cookie & LEARNED_BIT), feature)
    if kind == ofp.OFPT_GROUP_MOD:
        command, group = _GROUP_MOD.unpack_from(sent)
        return Refusal("group_mods", _modified("group", command, f"{group:#x}"), why)
    if kind == ofp.OFPT_METER_MOD:
        command, meter = _METER_MOD.unpack_from(sent)
        return Refusal("meter_mods", _modified("meter", command, f"{meter:#x}"), why)
    if kind == ofp.OFPT_PACKET_OUT:
        return Refusal("packet_outs", "a frame that it should send", why, holds=False)
    if kind == ofp.OFPT_EXPERIMENTER and bundle.is_part(sent):
        return _about(bundle.part(sent), why)
    if kind == ofp.OFPT_EXPERIMENTER:
        learned = bundle.is_of(bundle.LEARNED, sent)
        what = "several addresses at once" if learned else "several changes at once"
        return Refusal("bundles", what, why, learned=learned)
    return Refusal("others", f"a message of type {kind}", why, holds=False)


def _feature(number: int) -> str:
    return next((kind.name.lower() for kind in Feature if kind == number), f"feature {number:#x}")


def _modified(kind: str, command: int, number: str) -> str:
    return f"the removal of {kind} {number}" if command == ofp.OFPGC_DELETE else f"{kind} {number}"


_FULL = {
    (ofp.OFPET_FLOW_MOD_FAILED, ofp.OFPFMFC_TABLE_FULL): "the table is full",
    (ofp.OFPET_GROUP_MOD_FAILED, ofp.OFPGMFC_OUT_OF_GROUPS): "the table of groups is full",
    (ofp.OFPET_GROUP_MOD_FAILED, ofp.OFPGMFC_OUT_OF_BUCKETS): "it has no room for more buckets",
    (ofp.OFPET_METER_MOD_FAILED, ofp.OFPMMFC_OUT_OF_METERS): "the table of meters is full",
    (ofp.OFPET_METER_MOD_FAILED, ofp.OFPMMFC_OUT_OF_BANDS): "it has no room for more bands",
}
"""Errors of a switch that has no room, in words, by type and code."""


def _words(type_: int, code: int) -> str:
    if (words := _FULL.get((type_, code))) is not None:
        return words
    named: dict[str, Any] = ofp.ofp_error_to_jsondict(type_, code)
    return f"{named['type']}, {named['code']}"


class _Standing:
    """A refusal that is not over: how often it came, and when last (core time, seconds)."""

    __slots__ = ("count", "last", "refusal")

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        self.count = 0
        self.last = 0.0


class Refusals:
    """The refusals of one connection.

    changes: how often flows were refused, by feature; None: several changes at once.
    """

    def __init__(self) -> None:
        self.changes: Counter[int | None] = Counter()
        self._standing: dict[tuple[str, str], _Standing] = {}

    @property
    def words(self) -> list[str]:
        """Describe what the switch refuses now; empty if nothing."""
        return [f"{what}: {why}" for what, why in self._standing]

    @property
    def full(self) -> list[str]:
        """The part of `words` that is for lack of room."""
        standing = self._standing.items()
        return [f"{what}: {why}" for (what, why), each in standing if each.refusal.full]

    @property
    def in_line(self) -> bool:
        """Whether the switch holds what it should in spite of all that it refused."""
        return not any(standing.refusal.holds for standing in self._standing.values())

    @property
    def takes_addresses(self) -> bool:
        """Whether nothing of what it refuses is a learned address."""
        return not any(standing.refusal.learned for standing in self._standing.values())

    def add(self, refusal: Refusal, now: float) -> list[Event]:
        """Count a refusal; returns the event for the first of its kind."""
        if refusal.part in ("flow_mods", "bundles") and not refusal.learned:
            self.changes[refusal.feature] += 1
        what, why = refusal.what, refusal.why
        if (what, why) not in self._standing and len(self._standing) >= KINDS:
            refusal = refusal._replace(what="other things", why="for several reasons", full=False)
            what, why = refusal.what, refusal.why
        known = (what, why) in self._standing
        standing = self._standing.setdefault((what, why), _Standing(refusal))
        standing.count += 1
        standing.last = now
        if known:
            return []
        event = OPENFLOW_REFUSED.event(
            f"the switch refuses {what}: {why}",
            data={"what": what, "why": why},
            severity=Severity.ERROR if refusal.holds and not refusal.learned else Severity.WARNING,
        )
        return [event]

    def checked(self, began: float, now: float) -> list[Event]:
        """Take in that a check, begun at `began`, has put back what was missing; returns events."""
        events = []
        for key, standing in list(self._standing.items()):
            lasting = standing.refusal.learned or not standing.refusal.holds
            if standing.last < began and (not lasting or now - standing.last >= QUIET):
                del self._standing[key]
                message = f"the switch does not refuse {key[0]} any more"
                data = {"what": key[0], "why": key[1], "count": standing.count}
                events.append(OPENFLOW_REFUSED_CLEARED.event(message, data=data))
        return events
