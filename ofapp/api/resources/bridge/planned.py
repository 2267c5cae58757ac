"""Models of a planned change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from pydantic import BaseModel, Field

from ofapp.bridge import datapath_status
from ofapp.controller.configuration.configurator import Preview


class SentCounts(BaseModel):
    """Messages that changed a switch, by what they changed."""

    flows: int
    groups: int
    meters: int


class PlannedItem(BaseModel):
    """A thing of the network that a plan changes: a port, an aggregation, an address and so on."""

    item: str = Field(description="what it is, with its name: `port eth1`")
    changes: list[str] = Field(
        description="its own changes, as `VLAN 10 -> 20` or `member eth4 leaves`; empty if only"
        " flows change, as a consequence of other changes"
    )
    sent: SentCounts = Field(description="changes of its flows, groups and meters")


class Planned(BaseModel):
    """The effect of a change in the bridge's switch."""

    sent: SentCounts | None = Field(description="null while the switch is disconnected")
    items: list[PlannedItem] = Field(
        description="of a dry run: what changes in terms of the network; at most 1000"
    )
    lines: list[str] = Field(
        description="of a dry run: each change of a flow, group or meter; at most 1000"
    )


def items_of(items: Iterable[datapath_status.PlannedItem]) -> list[PlannedItem]:
    """The models of items."""
    return [PlannedItem(**item._asdict()) for item in items]


def planned_of(switch: Preview) -> Planned:
    """The model of a dry run."""
    return Planned(**asdict(switch) | {"items": items_of(switch.items)})
