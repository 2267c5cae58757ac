"""Cables between ports of switches, as the twin knows them."""

from __future__ import annotations

from typing import NamedTuple


class SwitchPort(NamedTuple):
    """A port of a switch, by its OpenFlow number."""

    datapath_id: int
    port: int


class Cable(NamedTuple):
    """Two ports of switches that are connected, the lower one first."""

    a: SwitchPort
    b: SwitchPort


def cable(one: SwitchPort, other: SwitchPort) -> Cable:
    """The cable between two ports, given in any order."""
    return Cable(*sorted((one, other)))
