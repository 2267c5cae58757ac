"""Latency against CPU occupancy: what a device used, and the advice that follows."""

from __future__ import annotations

from collections.abc import Sequence

from ofapp.bench.model import Results, Sample
from ofapp.bench.names import Measurement
from ofapp.bench.report.occupancy import Load, advice, chapter, limit, loads, polls
from ofapp.bench.report.plots import plots
from tests.unit.bench.conftest import NORMAL, WIRE, results

POLLING = "OVS NORMAL afxdp"


def curve(*points: tuple[float, float, float]) -> list[Load]:
    """Loads of these frames a second, cores, and 99th percentiles."""
    return [Load(rate, cores, p99 / 2, p99) for rate, cores, p99 in points]


INTERRUPTED = curve((5e3, 0.05, 30.0), (50e3, 0.3, 40.0), (100e3, 0.6, 90.0), (200e3, 0.9, 400.0))
SPINNING = curve((5e3, 1.0, 6.0), (50e3, 1.0, 7.0), (100e3, 1.0, 7.0), (200e3, 0.85, 8.0))


def sample(device: str, rate: float, cores: float, p99: float, repetition: int = 0) -> Sample:
    return Sample(
        test=Measurement.OCCUPANCY,
        device=device,
        repetition=repetition,
        at={"size": 64.0, "rate": rate},
        values={"cores": cores, "p50_us": p99 / 2, "p99_us": p99},
    )


def measured(device: str, points: Sequence[Load]) -> Results:
    return results(*(sample(device, one.rate, one.cores, one.p99) for one in points))


def test_the_wires_cores_are_the_generators() -> None:
    found = loads(
        results(
            *(sample(WIRE, rate, 0.1, 1.0) for rate in (5e3, 10e3)),
            sample(NORMAL, 5e3, 0.3, 20.0),
            sample(NORMAL, 5e3, 0.5, 30.0, repetition=1),
            sample(NORMAL, 10e3, 0.05, 25.0),
        )
    )
    assert list(found) == [NORMAL]
    assert [(one.rate, round(one.cores, 3), one.p99) for one in found[NORMAL]] == [
        (5e3, 0.3, 25.0),
        (10e3, 0.0, 25.0),
    ]


def test_a_probe_that_never_came_leaves_its_load_out() -> None:
    lost = sample(NORMAL, 5e3, 0.3, 20.0).model_copy(update={"values": {"cores": 0.3}})
    assert loads(results(lost)) == {}
    assert chapter(results(lost)) == []


def test_the_limit_is_the_last_load_within_twice_the_best() -> None:
    last, past = limit(INTERRUPTED)
    assert (last.rate, past and past.rate) == (50e3, 100e3)
    last, past = limit(SPINNING)
    assert (last.rate, past) == (200e3, None)


def test_a_slow_start_is_no_limit() -> None:
    """A processor that sleeps at a low load wakes up late."""
    last, past = limit(curve((5e3, 0.1, 90.0), (50e3, 0.4, 20.0), (100e3, 0.7, 60.0)))
    assert (last.rate, past and past.rate) == (50e3, 100e3)


def test_what_polls() -> None:
    assert polls(SPINNING)
    assert not polls(INTERRUPTED)


def test_advice() -> None:
    assert advice({NORMAL: INTERRUPTED, POLLING: SPINNING}) == [
        "OVS NORMAL netdev: plan for at most 50,000 frames/s (0.30 cores): at 100,000 frames/s"
        " (0.60 cores) the 99th percentile is 90.0 µs, at best 30.0 µs.",
        "OVS NORMAL afxdp: polls: 1.0 cores at 5,000 frames/s already. The 99th percentile is at"
        " most 2 times its least at 200,000 frames/s, the highest load that was measured (0.85"
        " cores).",
        "OVS NORMAL afxdp takes no more cores than OVS NORMAL netdev from 200,000 frames/s; its"
        " 99th percentile is lower at 4 of 4 loads.",
    ]


def test_polling_that_never_pays() -> None:
    slow = curve((5e3, 1.0, 60.0), (50e3, 1.0, 70.0))
    assert advice({NORMAL: INTERRUPTED, POLLING: slow})[-1] == (
        "OVS NORMAL afxdp takes more cores than OVS NORMAL netdev at every load that both carried;"
        " its 99th percentile is lower at none of them."
    )


def test_loads_that_only_one_carried_are_not_compared() -> None:
    assert advice({NORMAL: curve((1e3, 0.1, 9.0)), POLLING: SPINNING})[1:] == []


def test_the_chapter_has_a_row_for_each_load_and_a_plot() -> None:
    run = measured(NORMAL, INTERRUPTED)
    (filled,) = chapter(run)
    assert filled.tables[0].rows[:2] == [
        [NORMAL, "5,000", "0.05", "15.0", "30.0"],
        ["", "50,000", "0.30", "20.0", "40.0"],
    ]
    assert len(filled.advice) == 1
    assert NORMAL in plots(run)["occupancy"]
