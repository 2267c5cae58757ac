"""What no fault of a member may cause, watched during the fault."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from tests.cluster.site import HELLO, Hellos, Member, Newcomer, Site, Switch, streams
from tests.cluster.writers import by_nobodys_leave
from tests.support.waiting import wait_for

MOST_SILENCE = 3 * HELLO
"""Seconds between hellos of which two are missing; neighbours wait for as long."""


@dataclass
class Seen:
    """lost: frames between known hosts; dropped: those for which a switch's sockets had no room;
    overlooked: those that arrived at a host whose socket had none.
    bonds: by the partner's rate, frames lost over its bond, both ways; bonds_dropped: of these and
    of LACPDUs, those for which a switch's sockets had no room.

    forgotten: static entries that were set before and are not there afterwards.
    silence: seconds without a hello at most; learned: seconds until each newcomer was.
    """

    lost: int = 0
    dropped: int = 0
    overlooked: int = 0
    doubled: int = 0
    bonds: dict[str, int] = field(default_factory=dict)
    bonds_dropped: int = 0
    forgotten: int = 0
    silence: float = 0.0
    learned: list[float] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    trees: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        learned = " ".join(f"{each:.1f}" for each in self.learned)
        bonds = "".join(f" {lost} over the {rate} bond," for rate, lost in self.bonds.items())
        return (
            f"{self.lost} lost ({self.dropped} as a switch was busy, {self.overlooked} a host),"
            f"{bonds} {self.bonds_dropped} of bonds as a switch was busy,"
            f" {self.forgotten} entries forgotten,"
            f" {len(self.trees)} trees moved, {len(self.strangers)} written out of turn, longest"
            f" silence {self.silence:.1f} s, newcomers learned after {learned} s"
        )


class Watch:
    """While it is open; `seen` afterwards."""

    _numbers = iter(range(1, 60_000))

    def __init__(self, site: Site) -> None:
        self.site = site
        self.seen = Seen()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        site = self.site
        self._before = {switch: site.tree(site.owner(switch), switch) for switch in site.switches}
        self._dropped = site.dropped()
        self._bonds_dropped = sum(partner.dropped() for partner in site.partners)
        self._static = {switch: self._set(switch) for switch in site.switches}
        self._logs = {switch: switch.log.size() for switch in site.switches}
        self._hellos = [self._stack.enter_context(Hellos(own.listener)) for own in site.switches]
        self._streams = [self._stack.enter_context(stream) for stream in streams(site)]
        self._bonds = {
            partner.rate: [self._stack.enter_context(stream) for stream in partner.streams()]
            for partner in site.partners
        }
        self.more(200)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._stack:
            if error is None:
                self._look()

    def more(self, frames: int) -> None:
        """So many more frames are sent on each stream."""
        for stream in self._streams:
            stream.more(frames)

    def _set(self, switch: Switch) -> str:
        """A static entry that has to outlive what befalls; its path."""
        number = next(self._numbers)
        mac = f"02:0d:{switch.number:02x}:00:{number >> 8:02x}:{number & 255:02x}"
        path = f"/v1/bridges/{switch.bridge.dpid16}/fdb/0/{mac}"
        owner = self.site.owner(switch)
        reply = owner.patiently("PUT", path, {"port": switch.listener.plug})
        assert reply.status in (200, 201), reply
        return path

    def newcomers(self, *switches: Switch, seconds: float = 60) -> None:
        """A new host speaks at each of these switches: wait until all are known."""
        with ExitStack() as stack:
            new = [stack.enter_context(Newcomer(own, next(self._numbers))) for own in switches]
            self.seen.learned += [each.learned(seconds) for each in new]

    def taken(self, switch: Switch, owner: Member) -> None:
        """Wait until another member is MASTER there, and has the switch in line."""

        def by_another() -> bool:
            return switch.log.master() not in (None, owner.target) and self.site.served(switch)

        wait_for(by_another, f"another member than {owner.name} to take over", seconds=60)
        self.newcomers(switch)

    def settled(self, seconds: float = 60) -> None:
        """Wait until each switch is in line with some member."""
        site = self.site
        for switch in site.switches:
            wait_for(lambda own=switch: site.served(own), "an owner in line", seconds=seconds)

    def _look(self) -> None:
        site, seen = self.site, self.seen
        self.settled()
        wait_for(site.whole, "all members to be there", seconds=60)
        for partner in site.partners:
            wait_for(partner.whole, "the bond to use both cables", seconds=60)
        self.more(100)
        seen.bonds = {rate: sum(one.lost() for one in own) for rate, own in self._bonds.items()}
        seen.lost = sum(stream.lost() for stream in self._streams)
        seen.dropped = site.dropped() - self._dropped
        seen.bonds_dropped = sum(own.dropped() for own in site.partners) - self._bonds_dropped
        bonds = [stream for own in self._bonds.values() for stream in own]
        seen.overlooked = sum(stream.dropped() for stream in self._streams)
        seen.bonds_dropped += sum(stream.dropped() for stream in bonds)
        seen.doubled = sum(stream.doubled() for stream in (*self._streams, *bonds))
        for switch, path in self._static.items():
            seen.forgotten += site.owner(switch).patiently("DELETE", path).status != 204
        seen.silence = max(hellos.longest() for hellos in self._hellos)
        for switch, before in self._before.items():
            after = site.tree(site.owner(switch), switch)
            if after != before:
                seen.trees.append(f"switch {switch.number}: {before} -> {after}")
            writes, _ = switch.log.read(self._logs[switch])
            if site.etcd is None:  # there are no roles
                continue
            for write in by_nobodys_leave(writes):
                seen.strangers.append(
                    f"switch {switch.number}: {site.name(write.peer)} wrote {write.kind}"
                    f" {write.said[:60]} while {site.name(write.master or '')} was master"
                )
