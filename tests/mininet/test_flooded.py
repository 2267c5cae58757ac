"""A host that sends from ever new addresses, and many bridges that share one ovs-vswitchd."""

from __future__ import annotations

import itertools
import random
import select
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.lab import ETHERTYPE
from tests.support.ownswitch import BRIDGE, OwnSwitch
from tests.support.plant import Plant
from tests.support.waiting import during, wait_for

SIZE, LINKS = 24, 30
SECONDS = 5.0
SOURCES = b"\x02\xee"
"""Beginning of the addresses that the flood comes from."""
AFTERWARDS = 2.0
"""Seconds in which learning ends after the last frame has passed the switches: mostly one.

That is up to four seconds after it was sent: thousands wait in the sockets of a busy switch.
"""
LOOK = 20.0
"""Seconds in which both are looked for."""


@pytest.fixture
def plant() -> Iterator[Plant]:
    switch = OwnSwitch(Path("/usr/sbin/ovs-vswitchd"))
    plant = None
    try:
        switch.start()
        switch.vsctl("del-br", BRIDGE)
        plant = Plant(switch, SIZE, LINKS, random.Random(1))
        plant.build()
        yield plant
    finally:
        if plant is not None:
            plant.close()
        switch.close()


def _events(plant: Plant, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = plant.controller.get("/v1/events", kind=kind)["events"]
    return found


def _learned(plant: Plant) -> int:
    bridges = plant.controller.get("/v1/bridges")["bridges"]
    return sum(bridge["fdb"]["learned"] for bridge in bridges)


def _wait_calm(plant: Plant, seconds: float) -> None:
    last, since = -1, time.monotonic()

    def calm() -> bool:
        nonlocal last, since
        newest = max((event["number"] for event in _events(plant, "stp")), default=0)
        if newest != last:
            last, since = newest, time.monotonic()
        return time.monotonic() - since > seconds

    wait_for(calm, "the tree to be at rest", seconds=60)


def _flood(plant: Plant, seconds: float) -> None:
    end = time.monotonic() + seconds
    with plant.hosts[0].wire() as wire:
        for number in itertools.count():
            source = SOURCES + struct.pack("!I", number)
            body = struct.pack("!H", ETHERTYPE).ljust(48, b"\0")
            try:
                wire.send(b"\x02\x0a\x00\x00\x00\x02" + source + body)
            except OSError:  # the queue is full
                select.select([], [wire.socket], [], 1)
            if number % 64 == 0 and time.monotonic() > end:
                return


def test_a_flood_of_new_addresses_ends_with_its_last_frame_and_its_port_is_named(
    plant: Plant,
) -> None:
    _wait_calm(plant, 4)
    roles = len(_events(plant, "stp.role"))
    with plant.hosts[1].wire() as far:
        _flood(plant, SECONDS)
        last, grew, passed = _learned(plant), 0.0, 0.0
        for now in during(LOOK):
            if any(frame.startswith(SOURCES, 6) for frame in far.received()):
                passed = now
            if (learned := _learned(plant)) != last:
                last, grew = learned, now
    print(
        f"the last frame passed after {passed:.1f} s, and the last host was learned at {grew:.1f} s"
    )
    assert 0 < passed < LOOK / 2, "frames pass the switches, and soon have passed them"
    assert grew - passed < AFTERWARDS
    assert last > 0
    assert len(_events(plant, "stp.role")) == roles
    wait_for(lambda: _warned(plant), "a warning that names the port")
    assert {event["message"].split()[1] for event in _warned(plant)} == {plant.hosts[0].plug}
    wait_for(lambda: _events(plant, "learning.limited.cleared"), "its end", seconds=20)


def _warned(plant: Plant) -> list[dict[str, Any]]:
    return [e for e in _events(plant, "learning.limited") if e["severity"] == "warning"]
