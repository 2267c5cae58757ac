"""What is known of link ports and their cables, and why a link must not carry frames."""

from collections.abc import Iterator

from ofapp.bridge.fabric.links.cabling import Cabling
from ofapp.bridge.fabric.links.link import FabricLink
from ofapp.bridge.fabric.links.port import LIFE, SILENT, LinkPort
from ofapp.bridge.fabric.links.probe import ETHERNET
from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.fabric.plans.graph import End
from ofapp.bridge.fabric.status import LinkState, LinkStatus

PATIENCE = 30.0
"""Seconds after which missed probes end a link even if nothing else of its members is heard."""


class Known:
    """Ports and links as they are known now: nothing here changes them.

    links: links, by either end.  connected: members that send and report probes.
    """

    def __init__(self, params: FabricParams) -> None:
        self.ports: dict[End, LinkPort] = {}
        self.links: dict[End, FabricLink] = {}
        self.connected: set[int] = set()
        self.set_params(params)

    def set_params(self, params: FabricParams) -> None:
        """Take changed parameters."""
        self._params, self.cabling = params, Cabling(params)

    def active(self, port: LinkPort) -> bool:
        """Whether a port can send and report probes."""
        return port.carrier and port.end.member in self.connected

    def cost(self, link: FabricLink) -> int:
        """The cost of a link."""
        return self.cabling.cost(link.one.name, link.other.name)

    def neighbours(self, port: LinkPort, now: float) -> tuple[frozenset[End], frozenset[End]]:
        """Ports that a port hears, and where it is heard, without those before it was moved."""
        newest = max(port.hears.newest(now), port.heard_at.newest(now))
        return port.hears.since(newest), port.heard_at.since(newest)

    def fault(self, port: LinkPort, now: float) -> str:
        """What is wrong with the cable of a port, as far as it is known."""
        if not self.active(port):
            return ""
        senders, receivers = self.neighbours(port, now)
        ends = senders | receivers
        if port.end in ends:
            return "its frames come back to it: there is a loop at the other end of the cable"
        same = [end for end in ends if end.member == port.end.member]
        if same:
            return f"it is cabled to {self._names(same)} of the same member"
        if len(senders) == len(receivers) == 1 and len(ends) == 2:
            return (
                f"it hears {self._names(senders)} and is heard at {self._names(receivers)}: "
                "the fibres of two cables are crossed"
            )
        if len(ends) > 1:
            return f"there are {self._names(ends)} behind it: a hub or a bridge is in the cable"
        if ends:
            return self.cabling.difference(port.name, self._names(ends))
        text, at = port.stranger
        return text if now - at <= LIFE else ""

    def obstacle(self, link: FabricLink, now: float) -> str:
        """Why a link must not carry frames; empty if it may, once it is proven."""
        down = self._down(link)
        if down:
            return down
        for port in link.ports:
            other = link.beyond(port)
            if port.fault:
                return f"{port.name}: {port.fault}"
            senders, receivers = self.neighbours(port, now)
            strange = (senders | receivers) - {other.end}
            if strange:
                return f"{port.name} hears, or is heard at, {self._names(strange)}"
        if any(port.blocked for port in link.ports):
            return self.size_text(link)
        if not any(self._is_silent(port, link.beyond(port), now) for port in link.ports):
            return ""
        silent = [port for port in link.ports if port.missed >= SILENT]
        if len(silent) == 2:
            return "probes do not arrive in either direction"
        (port,) = silent
        return f"frames from {port.name} do not arrive at {link.beyond(port).name}"

    def is_proven(self, link: FabricLink, now: float) -> bool:
        """Whether frames of full size pass a link in both directions, and no other port."""
        for port in link.ports:
            beyond = frozenset({link.beyond(port).end})
            if not (self.active(port) and port.proven):
                return False
            if self.neighbours(port, now) != (beyond, beyond):
                return False
        return True

    def is_changed(self, link: FabricLink) -> bool:
        """Whether the cable may be another one since the link was proven."""
        return any(
            bool(port.fault) or (port.end.member in self.connected and not port.port.up)
            for port in link.ports
        )

    def may_lead_to(self, port: LinkPort, member: int) -> bool:
        """Whether a port without a link may be cabled to a member."""
        if not self.active(port) or port.end in self.links or port.fault:
            return False
        partner = self.cabling.partners.get(port.name, "").partition("/")[0]
        return partner in ("", self._params.members[member - 1].name)

    def state(self, link: FabricLink, now: float) -> tuple[LinkState, str]:
        """The state of a link, and why it does not carry frames."""
        if any(port.fault for port in link.ports):
            return LinkState.WRONG, self.obstacle(link, now) or link.reason
        down = self._down(link)
        needed = "; it is in use all the same, as members would be cut off" if link.needed else ""
        if down:
            return LinkState.DOWN, down + needed
        members = [port.end.member for port in link.ports]
        if disconnected := [each for each in members if each not in self.connected]:
            names = " and ".join(self._params.members[each - 1].name for each in disconnected)
            return LinkState.UNREACHABLE, f"{names} is not connected to the controller"
        if link.carries:
            return LinkState.CARRIES, ""
        free = link.free_at()
        if free is not None:
            seconds = max(free - now, 0)
            text = f"it has failed before, and is used again in {seconds:.0f} s"
            return LinkState.HELD, text + needed
        return LinkState.PROBING, (self.obstacle(link, now) or link.reason) + needed

    def port_state(self, port: LinkPort, now: float) -> tuple[LinkState, str]:
        """The same for a port that is no end of a link."""
        if port.fault:
            return LinkState.WRONG, port.fault
        if port.end.member not in self.connected:
            name = self._params.members[port.end.member - 1].name
            return LinkState.UNREACHABLE, f"{name} is not connected to the controller"
        if not port.carrier:
            return LinkState.DOWN, _why_down(port)
        senders, receivers = self.neighbours(port, now)
        if senders:
            return LinkState.PROBING, f"no frames from it have arrived at {self._names(senders)}"
        if receivers:
            return LinkState.PROBING, f"no frames have arrived from {self._names(receivers)}"
        return LinkState.PROBING, "no probe of another member has arrived"

    def size_text(self, link: FabricLink) -> str:
        """What is to be done where frames of full size do not pass."""
        mtu = self._params.link_mtu
        return (
            f"frames of {mtu + ETHERNET} octets do not pass: set the MTU of {link.one.name} and "
            f"{link.other.name} to at least {mtu}"
        )

    def _down(self, link: FabricLink) -> str:
        return "; ".join(
            _why_down(port)
            for port in link.ports
            if port.end.member in self.connected and not port.carrier
        )

    def _is_silent(self, port: LinkPort, other: LinkPort, now: float) -> bool:
        if port.missed < SILENT or not (self.active(port) and self.active(other)):
            return False
        return port.lost >= SILENT or now - port.first_missed >= PATIENCE

    def _names(self, ends: frozenset[End] | list[End]) -> str:
        return " and ".join(self.ports[end].name for end in sorted(ends))


def _why_down(port: LinkPort) -> str:
    if port.port.up:
        return f"{port.name} has carrier, but BFD has no session or has failed"
    return f"{port.name} has no carrier"


def status(known: Known, params: FabricParams, now: float) -> tuple[LinkStatus, ...]:
    """For display: the links, then ports without one, then cables of the file without ports."""
    return (*_links(known, now), *_ports(known, now), *_missing(known, params))


def _links(known: Known, now: float) -> Iterator[LinkStatus]:
    for link in sorted({*known.links.values()}, key=lambda link: link.one.end):
        state, reason = known.state(link, now)
        yield LinkStatus(
            one=link.one.name,
            other=link.other.name,
            state=state,
            cost=known.cost(link),
            since=now - link.since,
            reason=reason,
            failures=link.damping.failures,
        )


def _ports(known: Known, now: float) -> Iterator[LinkStatus]:
    for end, port in sorted(known.ports.items()):
        if end not in known.links:
            state, reason = known.port_state(port, now)
            partner = known.cabling.partners.get(port.name)
            if partner is not None and state is not LinkState.WRONG:
                reason += f"; the configuration says that it leads to {partner}"
            cost = known.cabling.cost(port.name, port.name)
            yield LinkStatus(port.name, None, state, cost, now - port.since, reason)


def _missing(known: Known, params: FabricParams) -> Iterator[LinkStatus]:
    names = {port.name for port in known.ports.values()}
    for one, other in params.cables:
        missing = [name for name in (one, other) if name not in names]
        if len(missing) == 2:
            reason = f"there are no link ports {one} and {other}"
            yield LinkStatus(
                one, other, LinkState.DOWN, known.cabling.cost(one, other), 0.0, reason
            )
