"""The links of a fabric, for display."""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.bridge.fabric.links.review import Review
from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.fabric.status import LinkState, LinkStatus


def status(review: Review, params: FabricParams, now: float) -> tuple[LinkStatus, ...]:
    """The links, then the ports without one, then cables of the file without such ports."""
    return (*_links(review, now), *_ports(review, now), *_missing(review, params))


def _links(review: Review, now: float) -> Iterator[LinkStatus]:
    for link in sorted({*review.links.values()}, key=lambda link: link.one.end):
        state, reason = review.state(link, now)
        yield LinkStatus(
            one=link.one.name,
            other=link.other.name,
            state=state,
            cost=review.cost(link),
            since=now - link.since,
            reason=reason,
            failures=link.damping.failures,
        )


def _ports(review: Review, now: float) -> Iterator[LinkStatus]:
    for end, port in sorted(review.ports.items()):
        if end not in review.links:
            state, reason = review.port_state(port, now)
            partner = review.cabling.partners.get(port.name)
            if partner is not None and state is not LinkState.WRONG:
                reason += f"; the configuration says that it leads to {partner}"
            cost = review.cabling.cost(port.name, port.name)
            yield LinkStatus(port.name, None, state, cost, now - port.since, reason)


def _missing(review: Review, params: FabricParams) -> Iterator[LinkStatus]:
    names = {port.name for port in review.ports.values()}
    for one, other in params.cables:
        missing = [name for name in (one, other) if name not in names]
        if len(missing) == 2:
            reason = f"there are no link ports {one} and {other}"
            yield LinkStatus(
                one, other, LinkState.DOWN, review.cabling.cost(one, other), 0.0, reason
            )
