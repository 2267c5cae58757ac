"""From samples to a report that can be believed."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ofapp.bench import BenchError
from ofapp.bench.model import Results, Sample, read
from ofapp.bench.names import Measurement
from ofapp.bench.report import write
from ofapp.bench.report.metrics import THROUGHPUT
from ofapp.bench.report.tables import chapters, comparison, number, remarks
from tests.unit.bench.conftest import NORMAL, OFAPP, WIRE, results, sample


def test_a_ratio_is_taken_within_a_repetition(run: Results) -> None:
    table = comparison([run], "OVS NORMAL")
    assert table is not None
    assert table.header == ["", "netdev"]
    assert table.rows[0] == ["Throughput, 64 octets", "0.990 (0.99 to 0.99)"]


def test_nothing_to_compare_with(run: Results) -> None:
    assert comparison([run], "Linux bridge") is None


def test_two_runs_are_two_columns(run: Results) -> None:
    other = run.model_copy(update={"title": "another run"})
    table = comparison([run, other], "OVS NORMAL")
    assert table is not None
    assert table.header == ["", "netdev (a run)", "netdev (another run)"]


def test_runs_of_different_tests_share_a_column(run: Results) -> None:
    streams = [
        sample(device, 0, {}, mbps=rate).model_copy(update={"test": Measurement.TCP})
        for device, rate in ((NORMAL, 100.0), (OFAPP, 102.0))
    ]
    table = comparison([run, results(*streams, title="another run")], "OVS NORMAL")
    assert table is not None
    assert table.header == ["", "netdev"]
    assert ["TCP", "1.020"] in table.rows
    assert table.rows[0] == ["Throughput, 64 octets", "0.990 (0.99 to 0.99)"]


def test_tables_tell_medians_spread_and_the_generators_limit(run: Results) -> None:
    (filled,) = chapters(run)
    table = filled.tables[0]
    assert table.title == THROUGHPUT.name
    assert table.header == ["", "64", "1,518"]
    assert table.rows[0] == [WIRE, *["≥ 400 ±75%"] * 2]
    assert table.rows[1] == [NORMAL, *["100 ±75%"] * 2]


def test_devices_that_reach_the_wire_are_named() -> None:
    at = {"size": 64.0}
    found = remarks(
        results(sample(WIRE, 0, at, rate=100), sample(OFAPP, 0, at, rate=96, limited=1))
    )
    assert found == [
        "The generator was the limit, within 5 % of what it sends over a wire: ofapp netdev at 64"
        " octets"
    ]
    slower = results(sample(WIRE, 0, at, rate=100), sample(OFAPP, 0, at, rate=90, limited=1))
    assert remarks(slower) == []


def test_disturbances_and_failures_are_reported() -> None:
    noisy = sample(WIRE, 0, {"size": 64.0}, rate=1).model_copy(update={"disturbed": 0.7})
    found = remarks(results(noisy, problems=("dpdk: not there",)))
    assert "1 of 1 measurements (up to 0.7 cores)" in found[0]
    assert found[1] == "Not measured: dpdk: not there"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.5, "0.50"), (12.34, "12.3"), (12345.6, "12,346")]
)
def test_digits_that_count(value: float, text: str) -> None:
    assert number(value) == text


def test_a_whole_report(run: Results, tmp_path: Path) -> None:
    run.write(tmp_path)
    said = write([tmp_path], tmp_path)
    markdown = (tmp_path / "report.md").read_text()
    assert str(tmp_path / "report.md") in said
    assert "| ofapp netdev | 99.0 ±75% | 99.0 ±75% |" in markdown
    assert "A & B <C>" in markdown
    plots = re.findall(r"\]\(([\w-]+\.svg)\)", markdown)
    assert plots == ["throughput.svg"]
    drawing = ElementTree.parse(tmp_path / plots[0]).getroot()
    drawn = {"".join(text.itertext()) for text in drawing.iter("{http://www.w3.org/2000/svg}text")}
    assert {WIRE, NORMAL, OFAPP, "1,518"} <= drawn
    page = (tmp_path / "report.html").read_text()
    assert "A &amp; B &lt;C&gt;" in page
    assert "<svg" in page
    assert "http" not in page.split("</style>")[0]


def test_results_survive_their_file(run: Results, tmp_path: Path) -> None:
    run.write(tmp_path)
    assert read(tmp_path) == run


def test_a_folder_without_results(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"results\.json: No such file.*--out of a run"):
        read(tmp_path)


def test_results_of_another_kind_name_the_field(run: Results, tmp_path: Path) -> None:
    run.write(tmp_path)
    path = tmp_path / "results.json"
    path.write_text(path.read_text().replace('"throughput"', '"thruput"', 1))
    with pytest.raises(BenchError, match=r"plan\.tests\.0: Input should be 'throughput'"):
        read(tmp_path)


def test_latency_tables_are_by_load(tmp_path: Path) -> None:
    made = [
        Sample(
            test=Measurement.LATENCY,
            device=device,
            repetition=0,
            at={"size": 64.0, "rate": rate},
            values={"p50_us": micro, "p99_us": 3 * micro, "cores": 0.1, "loss": 0.0},
        )
        for device, micro in ((NORMAL, 20.0), (OFAPP, 21.0))
        for rate in (10_000.0, 50_000.0)
    ]
    (filled,) = chapters(results(*made))
    assert filled.tables[0].header == ["", "10 k/s", "50 k/s"]
    assert filled.tables[0].title == "Latency, median, µs, 64 octets"
    table = comparison([results(*made)], "OVS NORMAL")
    assert table is not None
    assert table.rows[0] == [
        "Latency, median, 10,000 frames/s, 64 octets (less is better)",
        "1.050",
    ]
