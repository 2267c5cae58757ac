"""Counters of the rules of access lists, which outlive the flows they are read from.

A flow's counters restart when it is changed, or deleted from outside and put back.  What it had
counted until then, as of the last poll, is carried on.  A controller that starts takes over what
the switch has counted, with the time since when it did.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ofapp.bridge.datapath_status import Count
from ofapp.bridge.event import Event
from ofapp.bridge.params import acl
from ofapp.bridge.params.params import used_lists
from ofapp.openflow.model.cookie import Feature, parse_cookie
from ofapp.openflow.pipeline.acl import rule_meter
from ofapp.openflow.switch.counters.events import ACL_LIMITED, ACL_LIMITED_CLEARED
from ofapp.openflow.switch.switch_bridge import SwitchBridge
from ofapp.openflow.wire.messages.flow_stats import FlowStats

_SAME_TIME = 0.05  # seconds; ages are reported in milliseconds


class Reading(NamedTuple):
    """One counter of a switch.  of: what it counts for; age: seconds since it was 0."""

    of: int
    key: Hashable
    age: float
    packets: int
    octets: int


class Tally:
    """Sums of counters, each for one of several things, that never go back."""

    def __init__(self) -> None:
        self._last: dict[tuple[int, Hashable], Reading] = {}
        self._carried: dict[int, tuple[int, int]] = {}
        self._sums: dict[int, tuple[int, int]] = {}
        self._since: dict[int, float] = {}

    def observe(self, readings: Iterable[Reading], known: Collection[int], now: float) -> None:
        """All counters as they are `now`; what is not for one of `known` is forgotten.

        Others may be among them: the more there are, the surer it is how much time has passed.
        """
        before = self._last
        self._last = {(reading.of, reading.key): reading for reading in readings}
        for last in self._ended(before):
            if last.of in known:
                packets, octets = self._carried.get(last.of, (0, 0))
                self._carried[last.of] = packets + last.packets, octets + last.octets
        for gone in self._since.keys() - set(known):
            del self._since[gone]
            self._carried.pop(gone, None)
        self._sum_up(known, now)

    def _ended(self, before: Mapping[tuple[int, Hashable], Reading]) -> Iterator[Reading]:
        """Counters that are gone or have restarted.

        Those that go on have all aged by the same time, by the switch's clock: a machine that was
        paused, or moved to another host, has not aged at all.
        """
        both = [(before[place], new) for place, new in self._last.items() if place in before]
        passed = max((new.age - old.age for old, new in both), default=0.0)
        for old, new in both:
            if new.packets < old.packets or new.age < old.age + passed - _SAME_TIME:
                yield old
        yield from (old for place, old in before.items() if place not in self._last)

    def _sum_up(self, known: Collection[int], now: float) -> None:
        begun: dict[int, float] = {}
        self._sums = dict(self._carried)
        for reading in self._last.values():
            if reading.of not in known:
                continue
            packets, octets = self._sums.get(reading.of, (0, 0))
            self._sums[reading.of] = packets + reading.packets, octets + reading.octets
            if reading.of not in self._since:
                begun[reading.of] = max(begun.get(reading.of, 0.0), now - reading.age)
        self._since |= begun

    def of(self, number: int) -> Count | None:
        """The count for this number; None before the first reading of it."""
        if number not in self._since:
            return None
        packets, octets = self._sums.get(number, (0, 0))
        return Count(packets, octets, self._since[number])


class AclCounters:
    """Frames that one bridge's rules matched, and that their rates dropped, as last polled."""

    def __init__(self, bridge: SwitchBridge) -> None:
        self._bridge = bridge
        self._matched = Tally()
        self._over = Tally()
        self._seen: dict[tuple[str, str], int] = {}
        self._limited: set[tuple[str, str]] = set()

    def matched(self, name: str, rule: str) -> Count | None:
        """Frames that a rule of the list decided on, those above its rate included."""
        return self._matched.of(acl.rule_number(name, rule))

    def over_rate(self, name: str, rule: str) -> int:
        """Frames above the rule's rate, which were dropped."""
        count = self._over.of(rule_meter(name, rule))
        return 0 if count is None else count.packets

    def see_flows(self, flows: Iterable[FlowStats], now: float) -> None:
        """All flows of a switch, or at least those of access lists."""
        known = {
            acl.rule_number(name, rule)
            for name, rules in used_lists(self._bridge.params).items()
            for rule in (*(rule.name for rule in rules), acl.IMPLICIT)
        }
        self._matched.observe(_flow_readings(flows), known, now)

    def see_meters(self, stats: Iterable[Any], now: float) -> list[Event]:
        """All meters of a switch (os-ken's OFPMeterStats)."""
        rated = {rule_meter(*names): names for names in self._rated()}
        readings = [
            Reading(
                entry.meter_id,
                None,
                entry.duration_sec + entry.duration_nsec / 1e9,
                entry.band_stats[0].packet_band_count,
                entry.band_stats[0].byte_band_count,
            )
            for entry in stats
            if entry.band_stats
        ]
        self._over.observe(readings, rated, now)
        return list(self._events(rated.values()))

    def _events(self, rated: Iterable[tuple[str, str]]) -> Iterator[Event]:
        """Events for rules whose rates have begun to drop frames, or have ceased to."""
        before, self._seen = self._seen, {names: self.over_rate(*names) for names in rated}
        self._limited &= self._seen.keys()
        for names, dropped in self._seen.items():
            more = dropped - before.get(names, 0)
            about = f"list {names[0]}, rule {names[1]}"
            data = {"acl": names[0], "rule": names[1], "dropped": dropped}
            if more > 0 and names not in self._limited:
                self._limited.add(names)
                what = f"{about}: {more} frames above its rate were dropped"
                yield ACL_LIMITED.event(what, data=data)
            elif more <= 0 and names in self._limited:
                self._limited.discard(names)
                what = f"{about}: no frames are above its rate any more"
                yield ACL_LIMITED_CLEARED.event(what, data=data)

    def _rated(self) -> Iterator[tuple[str, str]]:
        for name, rules in used_lists(self._bridge.params).items():
            yield from ((name, rule.name) for rule in rules if rule.rate is not None)


def _flow_readings(flows: Iterable[FlowStats]) -> Iterator[Reading]:
    for flow in flows:
        cookie = parse_cookie(flow.cookie)
        if cookie is not None and cookie.feature == Feature.ACL:
            key = flow.priority, flow.match
            yield Reading(cookie.serial, key, flow.age, flow.packets, flow.octets)
