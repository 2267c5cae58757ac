"""The drop-in with the aggregation, and the lines that versions before 0.3 put into the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ofapp.config.load import load_config, parse_config
from ofapp.host_setup import controller_file
from ofapp.host_setup.lagfile import LagFileError, advice, drop_in, lags_in, without_lag
from ofapp.host_setup.state import FileLag, Lag

LAG = Lag("br0", "lag0", ("eth0", "eth1"), "active")
STATIC = Lag("br0", "lag0", ("eth0", "eth1"), "off")
LINE = "lag0: {members: [eth0, eth1], lacp: active, fallback: true}  # ofapp deploy\n"
OWN = "# quiet\nbridges:\n  br1: {stp: {enabled: false}}\n"
OLD = {  # the file as versions before 0.3 left it, and as it was before
    "all of it": (
        "bridges:  # ofapp deploy\n  br0:  # ofapp deploy\n    lags:  # ofapp deploy\n      "
        + LINE,
        "",
    ),
    "in a bridge's section": (
        "bridges:\n  br0:\n    lags:  # ofapp deploy\n      "
        + LINE
        + "    stp: {enabled: false}\n",
        "bridges:\n  br0:\n    stp: {enabled: false}\n",
    ),
    "before its end mark": (
        "watch: true\nbridges:  # ofapp deploy\n  br0:  # ofapp deploy\n    lags:  # ofapp deploy\n"
        f"      {LINE}...\n",
        "watch: true\n...\n",
    ),
}


@pytest.mark.parametrize("lag", [LAG, STATIC], ids=["lacp", "static"])
def test_the_drop_in_is_what_the_controller_takes(lag: Lag) -> None:
    text = drop_in(lag)
    assert lags_in([text]) == (FileLag(lag, ours=True),)
    parsed = parse_config(text.encode(), "f").bridges["br0"].lags["lag0"]
    assert (parsed.members, parsed.lacp) == (lag.members, lag.lacp)
    assert parsed.fallback == (lag is LAG)


def test_a_later_file_replaces_the_aggregation_of_an_earlier_one() -> None:
    text = (
        "bridges:\n  br0:\n    lags:\n      lag0: {members: [a, b]}\n      up: {members: [c, d]}\n"
    )
    lags = {known.lag.name: known for known in lags_in([text, drop_in(STATIC)])}
    assert lags["lag0"] == FileLag(STATIC, ours=True)
    assert not lags["up"].ours


@pytest.mark.parametrize(("text", "before"), OLD.values(), ids=OLD)
def test_what_versions_before_03_put_in_is_taken_out(text: str, before: str) -> None:
    assert FileLag(LAG, ours=True) in lags_in([text])
    assert without_lag(text, "br0", "lag0") == before


def test_an_old_section_that_a_user_has_put_something_into_stays() -> None:
    text = OLD["all of it"][0].replace("    lags:", "    stp: {enabled: false}\n    lags:")
    left = without_lag(text, "br0", "lag0")
    assert yaml.safe_load(left) == {"bridges": {"br0": {"stp": {"enabled": False}}}}


def test_what_a_user_wrote_is_not_taken_out() -> None:
    text = "bridges:\n  br0:\n    lags:\n      lag0: {members: [eth0, eth1]}\n"
    assert lags_in([text]) == (FileLag(LAG, ours=False),)
    assert without_lag(text, "br0", "lag0") == text


@pytest.mark.parametrize(("text", "reason"), [("- a\n", "no sections"), ("a: [\n", "not YAML")])
def test_a_text_that_is_no_configuration_is_refused(text: str, reason: str) -> None:
    with pytest.raises(LagFileError, match=reason):
        lags_in([text])


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
    )
)
def test_any_names(names: list[str]) -> None:
    lag = Lag("br0", "lag0", tuple(names), "off")
    assert lags_in([drop_in(lag)]) == (FileLag(lag, ours=True),)
    assert yaml.safe_load(drop_in(lag))["bridges"]["br0"]["lags"]["lag0"]["members"] == names


# On disk


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ofapp.yaml"
    path.write_text(OWN)
    return path


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bytes]]:
    """What the controller answers to a reload, the last one again and again."""
    given_answers = [(200, b"{}")]
    monkeypatch.setattr(controller_file, "call", lambda *_: given_answers[-1])
    return given_answers


@pytest.mark.usefixtures("answers")
def test_the_drop_in_is_written_and_removed_and_the_file_is_not_touched(file: Path) -> None:
    file.chmod(0o640)
    controller_file.put(str(file), LAG, "")
    written = file.with_name("ofapp.yaml.d") / "br0.yaml"
    assert written.stat().st_mode & 0o777 == 0o640
    assert load_config(file).bridges["br0"].lags["lag0"].members == LAG.members
    assert controller_file.read_lags(str(file)) == (FileLag(LAG, ours=True),)
    controller_file.put(str(file), STATIC, "")
    assert load_config(file).bridges["br0"].lags["lag0"].lacp == "off"
    controller_file.remove(str(file), STATIC, "")
    assert not written.exists()
    assert file.read_text() == OWN


@pytest.mark.usefixtures("answers")
def test_a_controller_of_another_user_reads_the_drop_in_under_any_umask(file: Path) -> None:
    file.chmod(0o644)
    file.parent.chmod(0o755)
    umask = os.umask(0o077)
    try:
        controller_file.put(str(file), LAG, "")
    finally:
        os.umask(umask)
    drop_ins = file.with_name("ofapp.yaml.d")
    assert drop_ins.stat().st_mode & 0o777 == 0o755
    assert (drop_ins / "br0.yaml").stat().st_mode & 0o777 == 0o644


def test_what_the_controller_refuses_is_put_back(
    file: Path, answers: list[tuple[int, bytes]]
) -> None:
    controller_file.put(str(file), LAG, "")
    answers.append((422, b'{"detail": "too many"}'))
    with pytest.raises(LagFileError, match="does not take it: too many"):
        controller_file.put(str(file), STATIC, "")
    assert controller_file.read_lags(str(file)) == (FileLag(LAG, ours=True),)


@pytest.mark.usefixtures("answers")
def test_a_user_s_drop_in_is_not_replaced(file: Path) -> None:
    drop_ins = file.with_name("ofapp.yaml.d")
    drop_ins.mkdir()
    (drop_ins / "br0.yaml").write_text("bridges: {br0: {ageing_time: 5}}\n")
    with pytest.raises(LagFileError, match="did not write it"):
        controller_file.put(str(file), LAG, "")
    controller_file.remove(str(file), LAG, "")
    assert (drop_ins / "br0.yaml").exists()


@pytest.mark.usefixtures("answers")
@pytest.mark.parametrize(("text", "before"), OLD.values(), ids=OLD)
def test_old_lines_move_into_the_drop_in_or_go(file: Path, text: str, before: str) -> None:
    file.write_text(text)
    controller_file.remove(str(file), LAG, "")
    assert file.read_text() == before
    file.write_text(text)
    controller_file.put(str(file), STATIC, "")
    assert file.read_text() == before
    assert load_config(file).bridges["br0"].lags["lag0"].lacp == "off"
