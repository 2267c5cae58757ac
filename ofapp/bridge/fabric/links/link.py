"""State of one link, two ports that hear each other and no others, and its failures."""

from ofapp.bridge.fabric.links.port import LinkPort
from ofapp.bridge.fabric.plans.graph import Link
from ofapp.bridge.fabric.status import LinkState

FIRST_HOLD, MOST_HOLD = 1.0, 64.0
"""Seconds that a proven link waits after one failure, doubled with each further one; the most."""
FORGET = 600.0
"""Seconds without a failure after which the next one counts as the first."""
FLAPPING = 3
"""Failures, each within `FORGET` of the one before, that are reported as flapping."""


class Damping:
    """Failures of one link.

    failures: all of them; streak: those that are not forgotten; at: the last one.
    """

    __slots__ = ("at", "failures", "streak")

    def __init__(self) -> None:
        self.failures = self.streak = 0
        self.at = float("-inf")

    def fail(self, now: float) -> None:
        """Take note of a failure."""
        self.streak = self.streak + 1 if now - self.at < FORGET else 1
        self.failures += 1
        self.at = now

    def hold(self, now: float) -> float:
        """Seconds that the link has to stay proven from now on until it is used."""
        if not self.streak or now - self.at >= FORGET:
            return 0.0
        return min(FIRST_HOLD * 2.0 ** min(self.streak - 1, 16), MOST_HOLD)


class FabricLink:
    """A link.  one has the lower end.

    carries: frames use it; proven_at: since when it has been proven, while it does not.
    same_cable: it was proven, and neither port has lost its carrier since.
    needed: it does not carry frames, but is in plans as members would be cut off without it.
    blocked: it was reported that full-size frames do not pass.
    reason: why it stopped carrying frames.  state: the last one, since `since`.
    """

    __slots__ = (
        *("blocked", "carries", "damping", "needed", "one", "other", "proven_at", "reason"),
        *("same_cable", "since", "state"),
    )

    def __init__(self, one: LinkPort, other: LinkPort, damping: Damping, now: float) -> None:
        self.one, self.other = sorted((one, other), key=lambda port: port.end)
        self.damping = damping
        self.carries = self.blocked = self.same_cable = self.needed = False
        self.proven_at: float | None = None
        self.reason = ""
        self.state = LinkState.PROBING
        self.since = now

    @property
    def ports(self) -> tuple[LinkPort, LinkPort]:
        """Both ports."""
        return self.one, self.other

    def beyond(self, port: LinkPort) -> LinkPort:
        """The port at the other end."""
        return self.other if port is self.one else self.one

    def value(self, cost: int) -> Link:
        """The link as a part of a graph."""
        return Link(self.one.end, self.other.end, cost)

    def restart(self, at: float) -> None:
        """Begin to prove it again."""
        self.proven_at = None
        for port in self.ports:
            port.restart(at)

    def free_at(self) -> float | None:
        """When it may carry frames if it stays proven; None: it is not proven, or it does."""
        if self.carries or self.proven_at is None:
            return None
        return self.proven_at + self.damping.hold(self.proven_at)
