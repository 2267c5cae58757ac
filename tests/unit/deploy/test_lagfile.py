"""The aggregation in the controller's file: put in and taken out, and nothing else is touched."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ofapp.config.load import parse_config
from ofapp.deploy.lagfile import LagFileError, advice, lags_in, with_lag, without_lag
from ofapp.deploy.state import FileLag, Lag

LAG = Lag("br0", "lag0", ("eth0", "eth1"), "active")
STATIC = Lag("br0", "lag0", ("eth0", "eth1"), "off")
TEXTS = {
    "nothing": "",
    "a comment": "# ours\n",
    "another section": "defaults: {stp: {enabled: false}}\n",
    "no end of line": "defaults: {stp: {enabled: false}}",
    "its end marked": "defaults: {stp: {enabled: false}}\n...\n",
    "marked on both sides": "# ours\n---\ndefaults: {stp: {enabled: false}}\n# last\n...\n",
    "an empty section": "bridges:\ndefaults: {stp: {enabled: false}}\n",
    "a commented one": "bridges:   # all\n  # none yet\n",
    "another bridge": "bridges:\n    br1:\n        stp: {enabled: false}\n",
    "the bridge": "bridges:\n  br0:\n    # quiet\n    stp: {enabled: false}\n  br1: {}\n",
    "quoted": "'bridges':\n  \"br0\":\n    stp: {enabled: false}\n",
    "another aggregation": "bridges:\n  br0:\n    lags:\n      up: {members: [a, b]}\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("lag", [LAG, STATIC], ids=["lacp", "static"])
def test_it_is_put_in_and_taken_out_again(text: str, lag: Lag) -> None:
    put = with_lag(text, lag)
    assert FileLag(lag, ours=True) in lags_in(put)
    assert set(text.splitlines()) <= set(put.splitlines())
    assert put.splitlines()[-1:] == ["..."] or not text.endswith("...\n")
    parsed = parse_config(put.encode(), "f").bridges["br0"].lags["lag0"]
    assert (parsed.members, parsed.lacp) == (lag.members, lag.lacp)
    assert parsed.fallback == (lag is LAG)
    assert with_lag(put, lag) == put
    assert without_lag(put, "br0", "lag0") == (
        text if text.endswith("\n") or not text else text + "\n"
    )


def test_another_one_of_ours_takes_its_place() -> None:
    three = Lag("br0", "lag0", ("eth0", "eth1", "eth2"), "active")
    assert with_lag(with_lag("", LAG), three) == with_lag("", three)


def test_a_section_that_somebody_has_put_something_into_stays() -> None:
    text = with_lag("", LAG).replace("    lags:", "    stp: {enabled: false}\n    lags:")
    left = without_lag(text, "br0", "lag0")
    assert yaml.safe_load(left) == {"bridges": {"br0": {"stp": {"enabled": False}}}}


def test_what_somebody_else_wrote_is_not_taken_out() -> None:
    text = "bridges:\n  br0:\n    lags:\n      lag0: {members: [eth0, eth1]}\n"
    assert lags_in(text) == (FileLag(LAG, ours=False),)
    assert without_lag(text, "br0", "lag0") == text
    with pytest.raises(LagFileError, match=r"bridges\.br0\.lags\.lag0 is there already"):
        with_lag(text, STATIC)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("bridges: {br0: {}}\n", r"bridges in line 1 is not a section .* by hand: bridges: \{br0"),
        ("bridges:\n  br0: {stp: {enabled: false}}\n", r"bridges\.br0 in line 2 is not"),
        ("x: &a\n  stp: {}\nbridges:\n  br0: *a\n", r"bridges\.br0 in line 4 is not"),
        ("bridges: ~\n", "bridges in line 1"),
        ("{bridges: {}}\n", "all in braces"),
        ("- a\n", "no sections"),
        ("a: [\n", "not YAML"),
    ],
)
def test_what_a_program_cannot_change_is_told_with_what_to_write(text: str, reason: str) -> None:
    with pytest.raises(LagFileError, match=reason):
        with_lag(text, LAG)


def test_the_advice_is_what_the_controller_takes() -> None:
    for lag in (LAG, STATIC):
        parsed = parse_config(advice(lag).encode(), "f")
        assert parsed.bridges["br0"].lags["lag0"].members == lag.members


@given(
    st.lists(
        st.text("abonsye0123456789.-_@+", min_size=1, max_size=15),
        min_size=2,
        max_size=4,
        unique=True,
    ),
    st.sampled_from(sorted(TEXTS)),
)
def test_any_names(names: list[str], key: str) -> None:
    lag = Lag("br0", "lag0", tuple(names), "off")
    put = with_lag(TEXTS[key], lag)
    assert FileLag(lag, ours=True) in lags_in(put)
    assert yaml.safe_load(put)["bridges"]["br0"]["lags"]["lag0"]["members"] == names
