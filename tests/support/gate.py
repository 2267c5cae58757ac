"""The judgement of a run of the tests, for tests/run.

A tier that depends on wall-clock time may fail because the machine was busy.  A test of such a
tier that fails is run once more, alone, when all tiers are done.  If it passes then, it is
*unstable*, and the run has not failed.  Nothing is run again where that could not change the
result: after a failure in a tier of virtual time, after more than MOST_UNSTABLE failures, and
after a failure that is no test's (a tier that was not done in time).

The folder of a run has a file TIER.end for each tier: passed, failed, skipped, exit status and
remark, with tabs between them.  For a tier whose tests pytest ran the counts are 0: they are in
its report TIER.xml.  N.again.xml is the report of the Nth test that was run again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

VIRTUAL_TIME = {"lint", "unit", "matrix", "packaging"}
"""Tiers whose result does not depend on the machine's speed.

In `vswitchd` only the switch has virtual time: the controller beside it has the machine's.
`matrix` runs `vswitchd` by itself, and its failures again.
"""
MOST_UNSTABLE = 5
NOTHING_COLLECTED = 5
TIMED_OUT = (124, 137)


@dataclass(frozen=True)
class Failure:
    """name: pytest's node id if `is_test`, or the tier.  seconds: duration of the test."""

    name: str
    text: str
    seconds: float = 0.0
    is_test: bool = False


@dataclass(frozen=True)
class Tier:
    name: str
    passed: int
    failures: tuple[Failure, ...]
    skipped: int
    remark: str


def _cases(report: Path) -> list[ElementTree.Element]:
    try:
        return list(ElementTree.parse(report).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return []


def _failure(case: ElementTree.Element) -> Failure | None:
    problem = next((found for kind in ("failure", "error") for found in case.iter(kind)), None)
    if problem is None:
        return None
    _, _, where = (problem.text or "").rstrip().rpartition("\n")
    text = f"{problem.get('message', '')[:500]!r}\n    {where}"
    file, place, name = (case.get(key, "") for key in ("file", "classname", "name"))
    if not place:  # a module that cannot be imported
        return Failure(name, text)
    classes = place.removeprefix(file.removesuffix(".py").replace("/", ".")).split(".")[1:]
    return Failure("::".join([file, *classes, name]), text, float(case.get("time", 0)), True)


def _failures(cases: Sequence[ElementTree.Element]) -> dict[str, Failure]:
    """Failures by name: a test that fails and cannot be torn down after that has two cases."""
    return {failure.name: failure for case in cases if (failure := _failure(case))}


def failures(report: Path) -> tuple[Failure, ...]:
    """Failures in *report*, which pytest wrote; empty if there is no such file."""
    return tuple(_failures(_cases(report)).values())


def _passed(case: ElementTree.Element) -> bool:
    return case.find("skipped") is None and _failure(case) is None


def read_tier(folder: Path, name: str, chosen: bool) -> Tier:
    """Read how a tier ended.  chosen: pytest got arguments, which may leave a tier no test."""
    try:
        fields = (folder / f"{name}.end").read_text().rstrip("\n").split("\t")
    except OSError:
        return Tier(name, 0, (Failure(name, "ended without a result"),), 0, "no result")
    passed, failed, skipped, status = map(int, fields[:4])
    remark = fields[4]
    if passed or failed or skipped:
        failures = (Failure(name, "see its messages above"),) * failed
        return Tier(name, passed, failures, skipped, remark)
    cases = _cases(folder / f"{name}.xml")
    bad = _failures(cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    passed = sum(map(_passed, cases))
    problem = ""
    if status in TIMED_OUT:
        problem = "not done in time"
    elif chosen and status == NOTHING_COLLECTED:
        remark = "no test matches"
    elif not (passed or bad):
        problem = "nothing ran"
    elif status and not bad:
        problem = f"pytest ended with status {status}"
    if problem:
        bad[name] = Failure(name, problem)
        remark = f"{problem}; {remark}"
    return Tier(name, passed, tuple(bad.values()), skipped, remark)


def to_run_again(tiers: Sequence[Tier]) -> list[Failure]:
    """Failures of tests that are unstable if they pass when they are run once more."""
    failed = [(tier.name, failure) for tier in tiers for failure in tier.failures]
    if len(failed) > MOST_UNSTABLE:
        return []
    if any(tier in VIRTUAL_TIME or not failure.is_test for tier, failure in failed):
        return []
    return [failure for _, failure in failed]


def unstable(folder: Path, tiers: Sequence[Tier]) -> dict[str, float]:
    """Names of tests that passed when they were run again, and how many seconds that took."""
    passed = {}
    for number, failure in enumerate(to_run_again(tiers)):
        cases = _cases(folder / f"{number}.again.xml")
        if cases and all(map(_passed, cases)):
            passed[failure.name] = float(cases[0].get("time", 0))
    return passed


def closing_lines(tiers: Sequence[Tier], again: dict[str, float]) -> Iterator[str]:
    """Yield a line for each tier, the failures, the unstable tests and the sum.

    again: as `unstable` returns it.  Failures are shown at the end, as CI shows the end of a log.
    """
    for tier in tiers:
        failed = sum(failure.name not in again for failure in tier.failures)
        passed = tier.passed + len(tier.failures) - failed
        yield (
            f"{tier.name:<10} {passed:>4} passed {failed:>3} failed {tier.skipped:>3} skipped   "
            f"{tier.remark}"
        )
    failures = [failure for tier in tiers for failure in tier.failures]
    failed = [failure for failure in failures if failure.name not in again]
    for failure in failed:
        yield f"{failure.name}\n    {failure.text}"
    for failure in failures:
        if failure.name in again:
            yield (
                f"unstable: {failure.name} failed after {failure.seconds:.1f} s, "
                f"passed alone in {again[failure.name]:.1f} s\n    {failure.text}"
            )
    if len(failed) > MOST_UNSTABLE:
        yield f"More than {MOST_UNSTABLE} failures: no test was run once more."
    passed = sum(tier.passed for tier in tiers) + len(failures) - len(failed)
    skipped = sum(tier.skipped for tier in tiers)
    yield f"{passed} passed, {len(failed)} failed, {skipped} skipped"


def main() -> int:
    """Print the node ids of tests to run again (`again`), or judge the run (`close`)."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("step", choices=("again", "close"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("tiers", nargs="+")
    parser.add_argument("--chosen", action="store_true", help="pytest got arguments")
    asked = parser.parse_args()
    tiers = [read_tier(asked.folder, name, asked.chosen) for name in dict.fromkeys(asked.tiers)]
    if asked.step == "again":
        for failure in to_run_again(tiers):
            print(failure.name)
        return 0
    again = unstable(asked.folder, tiers)
    print(*closing_lines(tiers, again), sep="\n")
    return int(any(failure.name not in again for tier in tiers for failure in tier.failures))


if __name__ == "__main__":
    raise SystemExit(main())
