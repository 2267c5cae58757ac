"""Results of a run that never was."""

from __future__ import annotations

import pytest

from ofapp.bench.model import Machine, Plan, Results, Sample
from ofapp.bench.names import Datapath, Dut, Measurement

WIRE, NORMAL, OFAPP = "wire", "OVS NORMAL netdev", "ofapp netdev"


def sample(device: str, repetition: int, at: dict[str, float], **values: float) -> Sample:
    """A sample of the throughput test."""
    return Sample(
        test=Measurement.THROUGHPUT, device=device, repetition=repetition, at=at, values=values
    )


def results(*samples: Sample, title: str = "a run", problems: tuple[str, ...] = ()) -> Results:
    """These samples, found by a plausible plan on a plausible machine."""
    return Results(
        title=title,
        begun="2026-01-01T00:00:00+00:00",
        seconds=60,
        plan=Plan(
            duts=(Dut.WIRE, Dut.NORMAL, Dut.OFAPP),
            datapaths=(Datapath.NETDEV,),
            tests=(Measurement.THROUGHPUT,),
            sizes=(64, 1518),
            addresses=(1,),
            repetitions=3,
            seconds=0.5,
        ),
        machine=Machine(
            processor="A & B <C>",
            cores=2,
            kernel="6.1",
            system="Debian",
            memory_mib=1024,
            virtual="none seen",
            versions={"ofapp": "1"},
        ),
        samples=samples,
        problems=problems,
    )


@pytest.fixture
def run() -> Results:
    """Three repetitions in which the machine slows down; ofapp is always 1 % behind NORMAL."""
    samples = []
    for repetition, speed in enumerate((1.0, 0.5, 0.25)):
        for size in (64.0, 1518.0):
            for device, rate, limited in (
                (WIRE, 800e3, 1),
                (NORMAL, 200e3, 0),
                (OFAPP, 198e3, 0),
            ):
                samples.append(
                    sample(device, repetition, {"size": size}, rate=rate * speed, limited=limited)
                )
    return results(*samples)
