"""The counts of beacons, which survive the process."""

from __future__ import annotations

from ofapp.controller.state.document import Document

BEACON = Document(
    "beacon",
    dump=lambda bridge, portions: bridge.protocol("beacon").dump(portions),
    restore=lambda bridge, data: bridge.protocol("beacon").restore(data),
)
