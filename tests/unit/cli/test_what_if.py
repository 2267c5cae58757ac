"""ofapp what-if: questions that are not complete, and answers in words."""

from __future__ import annotations

import pytest

from ofapp.cli.client import ApiError, Client
from ofapp.cli.config_changes import counted
from tests.unit.cli.conftest import Run


@pytest.mark.parametrize(
    "arguments",
    [
        ("--cut", "s1"),
        ("--cut", "s1/"),
        ("--plug", "s1/eth3,s2"),
        ("--move", "s1,s2/eth4"),
        ("--storm", "s1=50000"),
        ("--attach", "s1"),
    ],
)
def test_a_port_without_its_bridge_is_named_with_an_example(
    ofapp: Run, arguments: tuple[str, str]
) -> None:
    said = ofapp("what-if", *arguments)
    assert said.status == 2
    assert "is not BRIDGE/PORT: write s1/eth1" in said.err


@pytest.mark.parametrize("option", ["--plug", "--move"])
def test_a_port_is_not_joined_to_itself(ofapp: Run, option: str) -> None:
    said = ofapp("what-if", option, "s1/eth3,s1/eth3")
    assert said.status == 2
    assert "names one port twice" in said.err


def test_a_member_dies_in_a_cluster_alone(live_ofapp: Run) -> None:
    said = live_ofapp("what-if", "--fail-member", "m2")
    assert said.status == 1
    assert "this controller is in no cluster" in said.err
    assert "ask with `--disconnected`" in said.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--storm", "br0/eth1", "--storm", "br1/eth2=0"), "--storm br1/eth2=0: must be a whole"),
        *(
            (
                ("--attach", f"br0/eth1={wrong}"),
                f"--attach br0/eth1={wrong}: must be a whole number from 0 to 61440 in steps of"
                f" 4096, not {wrong}",
            )
            for wrong in (5, 70000)
        ),
    ],
)
def test_a_refusal_names_the_option(live_ofapp: Run, arguments: tuple[str, ...], said: str) -> None:
    refused = live_ofapp("what-if", *arguments)
    assert (refused.status, refused.out) == (1, "")
    assert refused.err.startswith(f"ofapp: {said}")


def test_a_refused_setting_is_named_as_it_was_typed(
    ofapp: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        fields = [("set.1.settings.stp.priority", "must be a whole number")]
        raise ApiError("set.1.settings.stp.priority: must be a whole number", 409, fields)

    monkeypatch.setattr(Client, "post", refuse)
    given = "--set", "s1:ageing_time=5", "--set", "s3:stp.priority=5"
    assert ofapp("what-if", *given).err == "ofapp: --set s3:stp.priority: must be a whole number\n"


def test_a_file_that_is_not_there_is_named_without_a_line(live_ofapp: Run) -> None:
    refused = live_ofapp("what-if", "--config", "/nowhere/missing.yaml")
    assert refused.err == "/nowhere/missing.yaml: cannot be read: No such file or directory\n"


@pytest.mark.parametrize(("number", "words"), [(1, "1 host"), (2, "2 hosts")])
def test_hosts_are_counted_in_words(number: int, words: str) -> None:
    assert counted(number, "host") == words
