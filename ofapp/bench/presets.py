"""Presets of the amount of measurements: quick, default, full; and what is asked for instead."""

from __future__ import annotations

from ofapp.bench.model import JUMBO, STANDARD_SIZES, Plan
from ofapp.bench.names import SAMPLED, Dut, Measurement

_BASE = (
    Measurement.OVERLOAD,
    Measurement.THROUGHPUT,
    Measurement.LATENCY,
    Measurement.TCP,
    Measurement.TRANSACTIONS,
)
_DUTS = (Dut.WIRE, Dut.LINUX, Dut.ROUTER, Dut.NORMAL, Dut.OFAPP)
QUICK = Plan(
    duts=_DUTS, tests=_BASE, sizes=(64, 1518), addresses=(1, 1_000), repetitions=1, seconds=0.3
)
USUAL = Plan(
    duts=_DUTS,
    tests=(*_BASE, Measurement.UDP, Measurement.FLOODING, Measurement.LEARNING),
    sizes=(64, 512, 1518),
    addresses=(1, 1_000, 10_000),
)
FULL = Plan(
    duts=_DUTS,
    tests=tuple(test for test in Measurement if test not in SAMPLED),
    sizes=(*STANDARD_SIZES, JUMBO),
    addresses=(1, 100, 1_000, 10_000, 100_000),
)
PROFILE = Plan(
    duts=(Dut.WIRE, Dut.LINUX, Dut.NORMAL, Dut.OFAPP),
    tests=(Measurement.PROFILE, Measurement.OCCUPANCY),
    addresses=(2, 2_048),
)
PROFILE_QUICK = PROFILE.model_copy(update={"repetitions": 1, "seconds": 0.2})


def between(made: Plan) -> Plan:
    """The plan between interfaces that are given, whose cables stay where they are: no wire."""
    return made.model_copy(update={"duts": tuple(dut for dut in made.duts if dut is not Dut.WIRE)})


def plan(preset: Plan, **asked: object) -> Plan:
    """The preset with what was asked for; None and empty values leave the preset's."""
    chosen = {name: value for name, value in asked.items() if value not in (None, [], ())}
    return Plan.model_validate(dict(preset) | chosen)
