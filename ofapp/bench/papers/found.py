"""What a run has found, and the verdicts on a paper's claims that follow from it.

A claim is about figures or ratios between bounds.  A ratio is taken within one repetition, so that
what slows the machine down slows both figures down.  Where the repetitions lie on both sides of a
bound, the difference is smaller than the noise: the claim cannot be seen, rather than holding in
one run and failing in the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from statistics import median
from typing import NamedTuple

from ofapp.bench.figures import Summary, ratios, summary
from ofapp.bench.model import Results, Sample, described
from ofapp.bench.names import Dut, Measurement, device_of

BRIDGES = (Dut.LINUX, Dut.NORMAL, Dut.OFAPP)
At = Mapping[str, float]
Spans = Mapping[str, Summary]
"""A figure or a ratio of each device, by label."""
ENOUGH, MARGIN, MARGIN_OF_FEW = 3, 0.03, 0.1
"""Repetitions from which their range counts as the noise, and the shares by which it is widened."""


class Verdict(StrEnum):
    """Result of a claim's check."""

    HOLDS = "holds here"
    FAILS = "does not hold here"
    UNSEEN = "cannot be seen here"
    UNMEASURED = "was not measured in this run"


Judged = tuple[Verdict, str]
"""A verdict, and the sentence with the figures that it comes from."""


class Figure(NamedTuple):
    """A figure of the samples at one load; label: the device, empty for each device in turn."""

    test: Measurement
    key: str
    at: At
    label: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What was measured: medians over the repetitions of a run, or their range."""

    results: Results

    def labels(self, *duts: Dut) -> list[str]:
        """The labels of these devices in the run, in the order of `duts`."""
        known = dict.fromkeys(sample.device for sample in self.results.samples)
        return [label for dut in duts for label in known if device_of(label) is dut]

    def samples(self, test: Measurement, label: str, at: At) -> list[Sample]:
        """One sample a repetition."""
        return [
            sample
            for sample in self.results.samples
            if sample.test is test and sample.device == label and sample.at == at
        ]

    def value(self, test: Measurement, label: str, key: str, at: At) -> float | None:
        """The median of a figure, None where there is none."""
        values = self._by_repetition(Figure(test, key, at, label)).values()
        return median(values) if values else None

    def net(self, test: Measurement, label: str, key: str, at: At) -> float | None:
        """The median of a figure less what the wire takes for as many frames; never below 0."""
        mine, sent, wire, reference = (
            self.value(test, one, name, at) for one in (label, "wire") for name in (key, "offered")
        )
        if mine is None or wire is None or not sent or not reference:
            return None
        return max(0.0, mine - wire * sent / reference)

    def spans(self, figure: Figure, *duts: Dut, over: Figure | None = None) -> dict[str, Summary]:
        """The figure of each device that has it, or its ratio to another one."""
        made = {}
        for label in [figure.label] if figure.label else self.labels(*duts):
            mine = self._by_repetition(figure._replace(label=figure.label or label))
            values = [*mine.values()]
            if over is not None:
                theirs = self._by_repetition(over._replace(label=over.label or label))
                values = ratios(mine, theirs)
            if values:
                made[label] = summary(values)
        return made

    def loads(self, test: Measurement, label: str, axis: str, **fixed: float) -> list[At]:
        """All loads of a device with these other parameters, by `axis`."""
        loads = {
            sample.at[axis]: sample.at
            for sample in self.results.samples
            if sample.test is test
            and sample.device == label
            and {key: value for key, value in sample.at.items() if key != axis} == fixed
        }
        return [loads[value] for value in sorted(loads)]

    def all_loads(self, test: Measurement) -> list[At]:
        """All loads that anything was measured at, in order."""
        loads: list[At] = []
        for sample in self.results.samples:
            if sample.test is test and sample.at not in loads:
                loads.append(sample.at)
        return loads

    def problem(self, test: Measurement, label: str, load: At) -> str:
        """Why a device was not measured at a load, in one line, if that is known."""
        for problem in self.results.problems:
            where, _, why = problem.partition(": ")
            device, *rest = where.split(", ", 3)
            if [device, *rest[:1]] == [label, test] and rest[2:] in ([], [described(load)]):
                return f"{' '.join(why.split())[:80]} (see the remarks)"
        return ""

    def _by_repetition(self, figure: Figure) -> dict[int, float]:
        samples = self.samples(figure.test, figure.label, figure.at)
        return {
            one.repetition: one.values[figure.key] for one in samples if figure.key in one.values
        }


def judge(
    spans: Spans, text: str, *, low: float = 0, high: float = inf, one: bool = False
) -> Judged:
    """The verdict on the claim that all devices, or `one` of them, are between two bounds."""
    if not spans:
        return Verdict.UNMEASURED, "The loads of this claim were not measured."
    wide = [_widened(span) for span in spans.values()]
    inside = [low <= span.low and span.high <= high for span in wide]
    outside = [span.high < low or span.low > high for span in wide]
    if any(inside) if one else all(inside):
        return Verdict.HOLDS, text
    if all(outside) if one else any(outside):
        return Verdict.FAILS, text
    return Verdict.UNSEEN, f"{text} The difference is within the noise of these runs."


def _widened(span: Summary) -> Summary:
    margin = MARGIN if span.runs >= ENOUGH else MARGIN_OF_FEW
    return Summary(span.middle, span.low * (1 - margin), span.high * (1 + margin), span.runs)


def exact(value: float) -> Summary:
    """A figure that is derived from medians, with the noise of few runs."""
    return Summary(value, value, value, 1)


def listed(spans: Spans, form: str) -> str:
    """Each device with its figure."""
    return "; ".join(f"{label} {span.middle:{form}}" for label, span in spans.items())


def together(*spans: Spans) -> Spans:
    """All figures of several spans, under any names."""
    return {f"{n} {label}": one for n, each in enumerate(spans) for label, one in each.items()}


Check = Callable[[Found], Judged]


def unseen(why: str) -> Check:
    """A check of a claim that no measurement on one machine can decide, and why."""
    return lambda _: (Verdict.UNSEEN, why)


NO_HARDWARE = unseen("There is no hardware switch on this machine to compare with.")


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a paper, its section there, and its check.

    exhibits: the tables and figures that it is about, separated by commas.
    """

    text: str
    source: str
    exhibits: str
    check: Check


class Claims(list[Claim]):
    """Claims of a paper, in its order."""

    def add(self, text: str, source: str, exhibits: str) -> Callable[[Check], Check]:
        """Add a claim; the function that is decorated is its check."""

        def adding(check: Check) -> Check:
            self.append(Claim(text, source, exhibits, check))
            return check

        return adding
