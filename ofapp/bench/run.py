"""`ofapp bench run`: a plan carried out, with a progress bar, and its results kept."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ofapp.bench import BenchError, machine
from ofapp.bench.bed import MOST, Bed, Half, bridge_name, clean, numbered
from ofapp.bench.choose import Where, check, controlled, devices
from ofapp.bench.devices.ovs import OpenVSwitch
from ofapp.bench.model import Plan, Results, writable
from ofapp.bench.names import SAMPLED
from ofapp.bench.profile.perf import counters
from ofapp.bench.runner import Runner, Turn
from ofapp.common.printable import printable


def carry_out(plan: Plan, where: Where, title: str, out: Path) -> Results:
    """Measure all of it; results are written to `out` as they come.

    BenchError when it cannot begin.  What fails on the way is in the results.
    """
    if os.geteuid():
        raise BenchError("making namespaces and bridges takes root: run it with sudo")
    check(plan, where)
    notes = [counters().lacks] if SAMPLED.intersection(plan.tests) else []
    writable(out)
    console, begun = Console(stderr=True), time.time()
    with ExitStack() as stack:
        before = signal.signal(signal.SIGTERM, _stop)  # so that all contexts are left
        stack.callback(signal.signal, signal.SIGTERM, before)
        made, left_out = devices(plan, where)
        for reason in left_out:
            console.print(printable(f"left out: {reason}"), highlight=False, markup=False)
        if plan.side_by_side:
            beds = [stack.enter_context(Bed(tag)) for tag in numbered(where.tag, len(made))]
        else:
            half = Half("tx", plan.remote.link) if plan.remote else None
            beds = [stack.enter_context(Bed(where.tag, where.given, half))] * len(made)
        stack.enter_context(controlled(made, beds))
        runner = Runner(
            plan,
            made,
            beds,
            problems=list(left_out),
            notes=[note for note in notes if note],
            processor_time=machine.separates_kernel_time(),
        )
        _with_progress(runner, console, lambda: runner.results(title, begun).write(out))
        return runner.results(title, begun)


def _with_progress(runner: Runner, console: Console, keep: Callable[[], None]) -> None:
    """Drawn between trials only, as a thread that draws during one would disturb it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    turns = runner.turns()
    with Progress(*columns, TimeRemainingColumn(), console=console, auto_refresh=False) as bar:
        task = bar.add_task("", total=len(turns))

        def announce(turn: Turn) -> None:
            said = f"{turn.repetition + 1}/{runner.plan.repetitions} {turn.task.test}"
            bar.update(task, description=f"{said}: {turn.device.label}", refresh=True)

        known = len(runner.problems)
        for _ in runner.run(announce):
            for problem in runner.problems[known:]:
                bar.console.print(printable(problem), highlight=False, markup=False)
            known = len(runner.problems)
            bar.advance(task)
            keep()


def remove_rests(tag: str, run_dir: Path) -> list[str]:
    """Remove leftovers of a killed run; return their names."""
    tags = [tag, *numbered(tag, MOST)]
    gone = [name for one in tags for name in clean(one)]
    switch = OpenVSwitch(run_dir)
    if (run_dir / "db.sock").exists():
        bridges = switch.bridges()
        for name in bridges & {bridge_name(one, number) for one in tags for number in (0, 1)}:
            switch.vsctl("del-br", name)
            gone.append(name)
    return gone


def _stop(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)
