"""How tables and spans look."""

from __future__ import annotations

import pytest

from ofapp.cli import output
from ofapp.cli.commands.vlan import _as_iproute2
from ofapp.cli.output import age, print_table, short


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0.9, "0s"),
        (99, "99s"),
        (100, "1m40s"),
        (3599, "59m59s"),
        (3600, "1h00m"),
        (359_999, "99h59m"),
        (360_000, "4d"),
        (10**8, "1157d"),
    ],
)
def test_ages_take_six_characters(seconds: float | None, text: str) -> None:
    assert age(seconds) == text
    assert len(text) <= 6


def test_the_widest_table_of_addresses_fits(capsys: pytest.CaptureFixture[str]) -> None:
    name = "x" * 15  # as long as Linux lets an interface's name be
    row = ["52:54:00:12:34:56", "4094", name, "learned", "59m59s", "99h59m", "0" * 16]
    print_table(["MAC", "VLAN", "PORT", "TYPE", "UPDATED", "USED", "BRIDGE"], [row])
    lines = capsys.readouterr().out.splitlines()
    assert all(cell in lines[1] for cell in row)
    assert max(map(len, lines)) <= 80


def test_a_list_that_is_too_long_for_the_terminal_goes_on_below(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    print_table(["PORT", "VLANS", "PVID"], [["eth0", "1,20,300,4000,1000-1999,2,3,4,5,6", "1"]])
    first, more = capsys.readouterr().out.splitlines()[1:]
    assert max(len(first), len(more)) <= 40
    assert first.split() == ["eth0", "1,20,300,4000,1000-1999,2,3,4,", "1"]
    assert more.split() == ["5,6"]


STATES = [["absent", "disconnected 3m"], ["br1", "ready"], ["br2", "discarding (lag0)"]]


@pytest.mark.parametrize(
    ("terminal", "variables", "coloured"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
    ],
)
def test_states_have_colours_on_a_terminal_alone(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    terminal: bool,
    variables: dict[str, str],
    coloured: bool,
) -> None:
    """What is bad is red, what needs a look yellow; a name that says so has no colour."""
    monkeypatch.setattr(output.sys.stdout, "isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    print_table(["BRIDGE", "STATE"], STATES)
    output.say("gone", colour=output.severity_colour("error"))
    _, absent, ready, closed, gone = capsys.readouterr().out.splitlines()
    assert ready == "br1     ready"
    if coloured:
        assert absent == "absent  \x1b[31mdisconnected 3m  \x1b[0m"
        assert closed == "br2     \x1b[33mdiscarding (lag0)\x1b[0m"
        assert gone == "\x1b[31mgone\x1b[0m"
    else:
        assert (absent, closed) == ("absent  disconnected 3m", "br2     discarding (lag0)")
        assert gone == "gone"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((0, "0"), (99_999, "99999"), (100_000, "100k"), (999_499, "999k"), (999_500, "1.00M")),
        *((12_345_678, "12.3M"), (2**64, "18.4E")),
    ],
)
def test_counts_take_six_characters(number: int, text: str) -> None:
    assert short(number) == text


def test_vlans_are_reported_as_iproute2_tells_them() -> None:
    port = {"port": {"name": "eth0"}, "mode": "trunk", "vlans": "1-10,20"}
    printed = _as_iproute2(port | {"bridge": "br0", "pvid": 5, "untagged": [5, 20]})
    assert printed["vlans"] == [
        {"vlan": 1, "vlanEnd": 4},
        {"vlan": 5, "flags": ["PVID", "Egress Untagged"]},
        {"vlan": 6, "vlanEnd": 10},
        {"vlan": 20, "flags": ["Egress Untagged"]},
    ]
