"""What is measured when, and what is refused before anything is made."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import AbstractContextManager
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from typer.testing import CliRunner

from ofapp.bench import BenchError
from ofapp.bench.bed import Bed, Given
from ofapp.bench.choose import Where, check
from ofapp.bench.devices import Device, Up
from ofapp.bench.model import writable
from ofapp.bench.names import SAMPLED, Datapath, Dut, Measurement
from ofapp.bench.presets import FULL, QUICK, USUAL, between, plan
from ofapp.bench.runner import TASKS, Runner
from ofapp.bench.sender import batch
from ofapp.cli.app import app

PORTS = Given("a", "b", ("c", "d"))


class Fake(Device):
    def __init__(self, label: str, learns: bool) -> None:
        self.label, self.learns = label, learns

    def up(self, bed: Bed, hosts: int) -> AbstractContextManager[Up]:
        raise BenchError("is a fake")


def runner(*tests: Measurement, repetitions: int = 3, monitored: bool = True) -> Runner:
    bed = cast(Bed, SimpleNamespace(monitored=monitored))
    devices = [Fake("wire", False), Fake("one", True), Fake("other", True)]
    return Runner(plan(USUAL, tests=tests, repetitions=repetitions), devices, [bed] * 3)


def test_devices_take_turns_within_a_test() -> None:
    turns = runner(Measurement.TCP, Measurement.UDP).turns()
    order = [(turn.repetition, turn.task.test, turn.device.label) for turn in turns]
    assert order[:6] == [
        *((0, Measurement.TCP, label) for label in ("wire", "one", "other")),
        *((0, Measurement.UDP, label) for label in ("wire", "one", "other")),
    ]
    assert set(Counter(order).values()) == {1}
    assert len(order) == 18


def test_every_device_comes_after_every_other() -> None:
    labels = [turn.device.label for turn in runner(Measurement.TCP, repetitions=6).turns()]
    orders = {tuple(labels[at : at + 3]) for at in range(0, 18, 3)}
    assert orders == set(permutations(["wire", "one", "other"]))


def test_what_is_flooded_is_asked_of_bridges_only() -> None:
    turns = runner(Measurement.LEARNING, repetitions=1).turns()
    assert [turn.device.label for turn in turns] == ["one", "other"]
    assert runner(Measurement.LEARNING, monitored=False).turns() == []


def test_a_device_that_fails_is_reported_and_the_rest_goes_on() -> None:
    running = runner(Measurement.TCP, repetitions=1)
    assert len(list(running.run(lambda turn: None))) == 3
    assert running.problems[1] == "one, tcp, repetition 0: is a fake"


def test_every_test_has_its_task() -> None:
    assert set(TASKS) == set(Measurement)


def test_plans() -> None:
    full = plan(FULL, sizes=None, tests=[])
    assert full.sizes == (64, 128, 256, 512, 1024, 1280, 1518, 9000)
    assert set(full.tests) == set(Measurement) - SAMPLED
    assert Dut.EXTERNAL not in full.duts
    duts = [Dut.OFAPP] * 2
    own = plan(QUICK, sizes=[1518, 64, 64], duts=duts, repetitions=7, seconds=2, loss=0.0)
    assert (own.sizes, own.duts, own.repetitions, own.seconds) == ((64, 1518), ("ofapp",), 7, 2)
    assert own.loss == 0
    assert between(USUAL).duts == tuple(dut for dut in USUAL.duts if dut is not Dut.WIRE)


def test_frames_leave_alone_as_long_as_the_generator_keeps_up() -> None:
    assert [batch(rate) for rate in (1_000, 100_000, 150_000, 400_000, 900_000)] == [1, 1, 2, 4, 8]


@pytest.mark.parametrize(
    ("duts", "given", "said"),
    [
        ([Dut.EXTERNAL], None, "give --tx and --rx, and no --port"),
        ([Dut.EXTERNAL], PORTS, "give --tx and --rx, and no --port"),
        ([Dut.EXTERNAL, Dut.OFAPP], Given("a", "b"), "measure it alone"),
        ([Dut.WIRE], PORTS, "a cable between --tx and --rx is --dut external"),
        ([Dut.OFAPP], Given("a", "b", ("c",)), "--port twice"),
    ],
)
def test_what_does_not_go_together(duts: list[Dut], given: Given | None, said: str) -> None:
    with pytest.raises(BenchError, match=said):
        check(plan(USUAL, duts=duts), Where("x", given, Path("/nowhere")))


def test_a_profile_sees_this_machine_only() -> None:
    made = plan(USUAL, duts=[Dut.EXTERNAL], tests=[Measurement.PROFILE])
    with pytest.raises(BenchError, match="shows only what this machine's processors do"):
        check(made, Where("x", Given("a", "b"), Path("/nowhere")))


def test_a_program_that_is_missing_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    made = plan(USUAL, tests=[Measurement.PAIRS, Measurement.PING])
    said = (
        "not installed: ethtool, iperf3, sockperf, ping:"
        " apt install ethtool iperf3 sockperf iputils-ping"
    )
    with pytest.raises(BenchError, match=f"^{said}$"):
        check(made, Where("x", None, Path("/nowhere")))


@pytest.mark.parametrize("out", ["file/below", "file"])
def test_an_output_that_cannot_be_written_is_refused(out: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BenchError, match=r"^--out \S+/file.*; give a directory that"):
        writable(tmp_path / out)


@pytest.mark.parametrize(
    ("test", "given", "said"),
    [
        (Measurement.TCP, PORTS, "each device has its own cables: leave out --tx, --rx"),
        (Measurement.LEARNING, None, "learning: needs a new device each time"),
    ],
)
def test_what_cannot_be_done_side_by_side(
    test: Measurement, given: Given | None, said: str
) -> None:
    made = plan(USUAL, duts=[Dut.OFAPP], tests=[test], side_by_side=True)
    with pytest.raises(BenchError, match=said):
        check(made, Where("x", given, Path("/nowhere")))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--quick", "--full"], "give one of them"),
        (["--tx", "eth1"], "give both or none"),
        (["--size", "60"], "60 is not in the range"),
        (["--dut", "hub"], "ofapp"),
        (["--tag", "much-too-long"], "at most 8"),
    ],
)
def test_the_command_refuses(words: list[str], said: str, tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["bench", "run", "--out", str(tmp_path / "out"), *words])
    assert answer.exit_code == 2
    assert said in answer.output
    assert not (tmp_path / "out").exists()


def test_the_help_names_all_that_can_be_asked_for() -> None:
    said = CliRunner().invoke(app, ["bench", "run", "--help"]).output
    for name in (*Dut, *Datapath, *Measurement):
        assert re.search(rf"\b{name}\b", said), name


def test_the_command_reports_what_is_not_there(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["bench", "report", str(tmp_path)])
    assert answer.exit_code == 1
    assert "give the --out of a run" in answer.output
