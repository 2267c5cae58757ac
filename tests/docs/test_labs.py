"""The labs of mininet/: each page is typed as it says, and what it promises is there to see.

A page is checked as doctest does it: `...` stands for anything, and the amount of white space does
not matter, as tables are as wide as what is in them.
"""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from tests.docs import sandbox

FOLDER = sandbox.ROOT / "mininet"
LABS = sorted(path.stem.removeprefix("lab_") for path in FOLDER.glob("lab_*.py"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PROMPT = "mininet> "
AT_ONCE = 4
"""They mostly wait for spanning tree."""


@dataclass(frozen=True)
class Page:
    """The docstring of a lab: the command that starts it, and what to type with what to see."""

    start: str
    steps: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, lab: str) -> Page:
        text = ast.get_docstring(ast.parse((FOLDER / f"lab_{lab}.py").read_text()))
        start = re.search(r"^    (mn .*)$", text, re.MULTILINE)[1]
        return cls(start, _steps(re.findall(r"^    (.*)$", text, re.MULTILINE)))


def _steps(lines: list[str]) -> tuple[tuple[str, str], ...]:
    """(command, lines that follow it) for each line with a prompt."""
    text = "".join(f"{line}\n" for line in lines)
    _, *typed = text.split(PROMPT)
    return tuple((step.partition("\n")[0], step.partition("\n")[2]) for step in typed)


@pytest.fixture(scope="module")
def walks() -> Iterator[dict[str, Future[str]]]:
    """What each lab says when its page is typed (`--test walk`); several at once."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        longest_first = sorted(LABS, key=lambda lab: lab != "legacy")
        yield {
            lab: pool.submit(sandbox.run, f"{Page.of(lab).start} --test walk")
            for lab in longest_first
        }
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("lab", LABS)
def test_the_page_tells_the_truth(lab: str, walks: dict[str, Future[str]]) -> None:
    page = Page.of(lab)
    assert len(page.steps) > 4
    said, _, _ = walks[lab].result().partition("*** Stopping")
    done = _steps(said.splitlines())
    assert [command for command, _ in done] == [command for command, _ in page.steps], said
    for (command, promised), (_, seen) in zip(page.steps, done, strict=True):
        same = doctest.OutputChecker().check_output(promised or "...", seen, FLAGS)
        assert same, f"{PROMPT}{command}\npromised:\n{promised}\nseen:\n{seen}"
        assert promised or "in vain" not in seen, f"{PROMPT}{command}\n{seen}"


def test_a_controller_that_runs_already_is_used_or_left_alone() -> None:
    """By two names; and a lab that brings its own takes other ports then."""
    said = sandbox.run("""
        PATH=.venv/bin:$PATH ofapp-manager --state-dir /tmp/state >/tmp/manager 2>&1 &
        manager=$!
        until curl -s localhost:8080/v1/bridges >/dev/null; do sleep 0.1; done
        lab="mn --custom mininet/ofapp_topo.py --topo single,2 --test settle"
        for controller in ofapp_remote remote; do
            echo "== $controller"
            $lab --test pingall --controller $controller
        done
        echo "== ofapp"
        $lab
        kill $manager && wait $manager
        """)
    _, own, plain, taken = re.split("^== .*\n", said, flags=re.MULTILINE)
    for part in (own, plain):
        assert "0% dropped (2/2 received)" in part, said
    assert "in vain" not in said
    assert "taken" not in own + plain
    assert "port 6653 is taken: OpenFlow goes to port" in taken
    assert "port 8080 is taken: the REST API goes to port" in taken


def test_a_mistake_on_the_command_line_of_a_lab_costs_a_line_and_no_bridge() -> None:
    """`mn` would remove all bridges for an exception."""
    said = sandbox.run("""
        ovs-vsctl add-br precious -- set bridge precious datapath_type=netdev
        mn --custom mininet/ofapp_topo.py --topo ring,3 <<END
move h1
move h1 s9
stream h1 10.0.0.1
stream h7 239.1.1.1
lab
END
        mn --custom mininet/ofapp_topo.py --topo ring,3 --controller ofapp,config=/nowhere
        echo "status $?"
        ovs-vsctl list-br
        """)
    for line in (
        "needed: HOST SWITCH",
        "there is no switch s9",
        "10.0.0.1 is no multicast group",
        "there is no host h7",
        "Lab `ring`",
        "cannot read --config-file /nowhere",
        "status 1",
    ):
        assert line in said
    assert "Traceback" not in said
    assert said.splitlines()[-1] == "precious"
