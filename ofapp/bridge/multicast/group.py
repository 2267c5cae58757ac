"""One multicast group on one VLAN: its members, permanent entries, and the datapath's entries."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from ofapp.bridge.multicast.address import is_mac_group
from ofapp.bridge.multicast.effects import Effect, RemoveGroup, SetGroup
from ofapp.bridge.multicast.member import Member

if TYPE_CHECKING:
    from ofapp.bridge.multicast.context import Context
    from ofapp.bridge.multicast.core import Port


class Group:
    """(VLAN, group). `sent` is what the datapath was told, by source, None for (*,G).

    static: permanent entries by port: the sources wanted, None for all but those in its value.
    """

    __slots__ = (
        "address",
        "context",
        "members",
        "owner",
        "reported",
        "sent",
        "source_owner",
        "static",
    )

    def __init__(self, context: Context, address: bytes) -> None:
        self.context = context
        self.address = address
        self.members: dict[int, Member] = {}
        self.static: dict[int, dict[bytes | None, frozenset[bytes]]] = {}
        self.sent: dict[bytes | None, frozenset[int]] = {}
        self.owner: int | None = None  # the port its (*,G) is charged to; None: no members
        self.source_owner: dict[bytes, int] = {}
        self.reported = -inf  # when routers last got an old host's report, for suppression

    def touch(self) -> None:
        """Compare with what the datapath has when the input is done."""
        self.context.core.dirty[self] = None

    # What the datapath shall have.

    def wanted(self) -> dict[bytes | None, frozenset[int]]:
        """Ports by source.

        A source has an entry of its own only where its ports are not those of (*,G). Ports that
        do not forward are in none.
        """
        if not (self.members or self.static) or not self._restricts():
            return {}
        live, routers = self.context.live, self.context.routers_live
        star = set(routers)
        sources: set[bytes] = set()
        filters = [(p, m.state) for p, m in self.members.items() if p in live]
        for port, state in filters:
            if state.exclude:
                star.add(port)
            if state.sources:
                sources.update(state.sources)
        static = [(p, kept) for p, kept in self.static.items() if p in live]
        for port, kept in static:
            if None in kept:
                star.add(port)
            sources.update(source for source in kept if source is not None)
            sources.update(kept.get(None, ()))
        result: dict[bytes | None, frozenset[int]] = {}
        for source in sources:
            ports = set(routers)
            ports.update([port for port, state in filters if state.forwards(source)])
            ports.update([port for port, kept in static if _keeps(kept, source)])
            if ports != star:
                result[source] = frozenset(ports)
        result[None] = frozenset(star)
        return result

    def _restricts(self) -> bool:
        """Nobody is asked about MAC addresses, so they need no querier, as on the Linux bridge."""
        return self.context.enabled if is_mac_group(self.address) else self.context.active

    def flush(self, out: list[Effect]) -> None:
        """Emit the differences; sources first, so that a stream that becomes specific goes on."""
        wanted, vid, address = self.wanted(), self.context.vid, self.address
        for source, ports in wanted.items():
            if self.sent.get(source) != ports:
                out.append(SetGroup(vid, address, source, ports))
        for source in self.sent:
            if source not in wanted:
                out.append(RemoveGroup(vid, address, source))
        self.sent = wanted

    # Members, and who is charged for what they cause.

    def join(self, port: Port) -> Member | None:
        """A new member, or None if a limit forbids the group."""
        if self.owner is None:
            if not self.context.core.charge(port):
                return None
            self.owner = port.number
        member = self.members[port.number] = Member(self, port)
        port.members[member] = None
        return member

    def drop(self, member: Member) -> None:
        """A member is gone; Member.remove calls this."""
        number = member.port.number
        del self.members[number]
        core = self.context.core
        if self.owner == number:
            self.owner = next(iter(self.members), None)
            if self.owner is None:
                core.release(number)
            else:
                core.ledger.move(number, self.owner)
        member.state.sources = {}
        self.charge_sources(member)
        self.touch()
        self.context.forget_if_empty(self)

    def charge_sources(self, member: Member) -> None:
        """Make the charges fit the member's sources; a source that is refused is left out."""
        mine, owner = member.state.sources, self.source_owner
        if not mine and not owner:
            return
        core, number = self.context.core, member.port.number
        for source in [s for s in mine if s not in owner]:
            if core.charge(member.port):
                owner[source] = number
            else:
                del mine[source]
        for source in [s for s, port in owner.items() if port == number and s not in mine]:
            heir = next((p for p, m in self.members.items() if source in m.state.sources), None)
            if heir is None:
                del owner[source]
                core.release(number)
            else:
                owner[source] = heir
                core.ledger.move(number, heir)


def _keeps(kept: dict[bytes | None, frozenset[bytes]], source: bytes) -> bool:
    return source in kept or (None in kept and source not in kept[None])
