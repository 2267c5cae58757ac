"""Priorities of ports in the file."""

from __future__ import annotations

import pytest

from ofapp.config import parse_config


@pytest.mark.parametrize(
    ("port", "warned"),
    [
        ("{priority: 3}", True),
        ("{priority: 3, vlan: {trunk: [7]}}", True),
        ("{priority: 3, vlan: {trunk: [7], native: 8}}", False),
        ("{priority: 3, vlan: 7}", False),
        ("{priority: 3, qos_trust: pcp}", False),
        ("{vlan: 7}", False),
    ],
)
def test_a_priority_that_no_frame_gets_is_warned_of(port: str, warned: bool) -> None:
    text = f"bridges: {{br0: {{ports: {{eth1: {port}, 'eth*': {{priority: 3}}}}}}}}"
    warnings = parse_config(text.encode(), "f").warnings()
    found = [each for each in warnings if each.startswith("bridges.br0.ports.eth1: priority")]
    assert bool(found) == warned
