"""Presets of the amount of measurements: quick, default, full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ofapp.bench.frames import MIN_SIZE
from ofapp.bench.model import JUMBO, STANDARD_SIZES, Plan
from ofapp.bench.names import SAMPLED, Datapath, Dut, Measurement

_BASE = (
    Measurement.OVERLOAD,
    Measurement.THROUGHPUT,
    Measurement.LATENCY,
    Measurement.TCP,
    Measurement.TRANSACTIONS,
)
_USUAL = (*_BASE, Measurement.UDP, Measurement.FLOODING, Measurement.LEARNING)


@dataclass(frozen=True, slots=True)
class Preset:
    """Defaults that complete a plan."""

    tests: tuple[Measurement, ...]
    sizes: tuple[int, ...]
    addresses: tuple[int, ...]
    repetitions: int
    seconds: float


QUICK = Preset(_BASE, (64, 1518), (1, 1_000), 1, 0.3)
USUAL = Preset(_USUAL, (64, 512, 1518), (1, 1_000, 10_000), 3, 0.5)
FULL = Preset(
    tuple(test for test in Measurement if test not in SAMPLED),
    (*STANDARD_SIZES, JUMBO),
    (1, 100, 1_000, 10_000, 100_000),
    3,
    0.5,
)
_PROFILE = (Measurement.PROFILE, Measurement.OCCUPANCY)
PROFILE = Preset(_PROFILE, (MIN_SIZE,), (2, 2_048), 3, 0.5)
PROFILE_QUICK = Preset(_PROFILE, (MIN_SIZE,), (2, 2_048), 1, 0.2)
DUTS_PROFILED = (Dut.WIRE, Dut.LINUX, Dut.NORMAL, Dut.OFAPP)
DUTS_BETWEEN = (Dut.LINUX, Dut.ROUTER, Dut.NORMAL, Dut.OFAPP)
"""Between interfaces that are given: their cables stay where they are."""
DUTS = (Dut.WIRE, *DUTS_BETWEEN)


@dataclass(frozen=True, slots=True)
class Asked:
    """Options that the user gave; the preset replaces empty ones and None."""

    duts: Sequence[Dut] = ()
    datapaths: Sequence[Datapath] = ()
    tests: Sequence[Measurement] = ()
    sizes: Sequence[int] = ()
    addresses: Sequence[int] = ()
    repetitions: int | None = None
    seconds: float | None = None
    loss: float = 0.001
    side_by_side: bool = False


def plan(asked: Asked, preset: Preset) -> Plan:
    """The plan; what was asked for comes first, once each, sizes and addresses in order."""
    return Plan(
        duts=tuple(dict.fromkeys(asked.duts or DUTS)),
        datapaths=tuple(dict.fromkeys(asked.datapaths or (Datapath.NETDEV,))),
        tests=tuple(dict.fromkeys(asked.tests or preset.tests)),
        sizes=tuple(sorted(set(asked.sizes or preset.sizes))),
        addresses=tuple(sorted(set(asked.addresses or preset.addresses))),
        repetitions=asked.repetitions or preset.repetitions,
        seconds=asked.seconds or preset.seconds,
        loss=asked.loss,
        side_by_side=asked.side_by_side,
    )
