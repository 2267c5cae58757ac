"""The papers' tables as data, and what their reports say of what was found."""

from __future__ import annotations

from pathlib import Path

import pytest

from ofapp.bench import BenchError
from ofapp.bench.guests import in_guests
from ofapp.bench.model import Plan, Remote, Results, Sample
from ofapp.bench.names import Duplex, Dut, Measurement, Paper
from ofapp.bench.papers import across, paper, plan
from ofapp.bench.papers.found import Found, Verdict
from ofapp.bench.papers.yu_claims import knee, line_rate
from ofapp.bench.report import write
from ofapp.bench.report.paper import context
from tests.unit.bench.conftest import NORMAL, OFAPP, WIRE, results

LINUX = "Linux bridge"
NAMES = [str(name) for name in Paper]


def found(made: Plan, *samples: Sample, problems: tuple[str, ...] = ()) -> Results:
    return results(*samples, problems=problems).model_copy(update={"plan": made})


def load(device: str, rate: float, received: float, latency: float, cores: float = 0.1) -> Sample:
    values = {"offered": rate, "received": received, "mbps": received * 512 / 1e6}
    return Sample(
        test=Measurement.LATENCY,
        device=device,
        repetition=0,
        at={"size": 64, "rate": rate},
        values=values | {"p50_us": latency, "cores": cores},
    )


@pytest.mark.parametrize("name", NAMES)
def test_each_row_has_a_figure_of_the_paper_for_each_column(name: str) -> None:
    for exhibit in paper(name).exhibits:
        assert exhibit.rows
        for row in exhibit.rows:
            assert len(row.paper) == len(exhibit.columns), exhibit.name
            assert all(row.name or head.text(row.at) for head in exhibit.heads), exhibit.name
            assert not row.only or row.otherwise


@pytest.mark.parametrize("name", NAMES)
def test_a_report_without_any_figure_has_no_empty_cell(name: str, tmp_path: Path) -> None:
    made = plan(name, [], {}, quick=True)
    nothing = {"device": LINUX, "repetition": 0, "at": {"x": 1.0}, "values": {"y": 1.0}}
    run = found(made, Sample(test=Measurement.CACHING, **nothing), problems=("ofapp: is broken",))
    report = context(run)
    assert [part.exhibit.name for part in report.parts] == [
        exhibit.name for exhibit in paper(name).exhibits
    ]
    for part in report.parts:
        for table in part.tables:
            assert all(len(row) == len(table.header) for row in table.rows), table.title
            assert all(cell.strip() for row in table.rows for cell in row), table.title
    assert [claim for claim, _, _ in report.claims] == list(paper(name).claims)
    verdicts = {verdict for _, verdict, _ in report.claims}
    assert verdicts <= {Verdict.UNMEASURED, Verdict.UNSEEN}
    run.write(tmp_path)
    write([tmp_path], tmp_path)
    assert "is broken" in (tmp_path / "report.md").read_text()


def test_the_report_has_the_papers_figure_beside_those_found(tmp_path: Path) -> None:
    made = plan("yu", ["table 3"], {"rate": [40_000, 123_456]}, quick=True)
    samples = [
        load(device, rate, rate, late, cores)
        for rate in (40_000, 123_456)
        for device, late, cores in ((WIRE, 1, 0.2), (LINUX, 2, 0.5), (NORMAL, 30, 0.9))
    ]
    run = found(made, *samples, problems=(f"{OFAPP}, latency, repetition 0: no frame passes",))
    run.write(tmp_path)
    write([tmp_path], tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "| FPS | Input rate, bit/s | Latency, µs: paper | Linux bridge | OVS NORMAL" in text
    assert "| 40,000 | 20,480,000 | 25.0 | 2.00 | 30.0 | 20,000,000 |" in text
    assert "| 56.0 | 30.0 | 70.0 |" in text, "occupancy is less the wire's"
    assert "| 123,456 | 63,209,472 | not in the paper | 2.00 | 30.0 |" in text
    assert "| ofapp | not measured here: ofapp netdev, latency, repetition 0: no frame" in text
    assert "\n| 100 |" not in text, "other rates were not asked for"


def test_a_load_that_failed_says_why_and_others_have_their_figures(tmp_path: Path) -> None:
    made = plan("yu", ["table 3"], {"rate": [1_000, 2_000]}, quick=True)
    samples = [load(device, 1_000, 1_000, 5) for device in (WIRE, LINUX)]
    failed = f"{LINUX}, latency, repetition 0, rate 2000, size 64: sendmsg:\n no\tbuffer"
    found(made, *samples, problems=(failed,)).write(tmp_path)
    write([tmp_path], tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "| 1,000 | 512,000 | 25.0 | 5.00 |" in text
    assert "| not in the paper | sendmsg: no buffer (see the remarks) |" in text


def test_a_figure_is_drawn_into_the_page(tmp_path: Path) -> None:
    made = plan("yu", ["figure 10"], {}, quick=True)
    samples = [
        load(device, rate, rate, 10).model_copy(update={"at": {"size": size, "rate": rate}})
        for device in (WIRE, LINUX)
        for rate in (1.0, 1_000.0)
        for size in (64.0, 1500.0)
    ]
    found(made, *samples).write(tmp_path)
    write([tmp_path], tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "<svg" in page
    assert "Linux bridge, rate 1000" in page
    assert (tmp_path / "figure-10.svg").exists()
    with pytest.raises(BenchError, match="give it alone"):
        write([tmp_path, tmp_path], tmp_path)


def test_the_knee_is_the_last_load_before_latency_or_loss_jumps() -> None:
    made = plan("yu", ["table 3"], {}, quick=True)
    table_3 = [
        *((10_000, 10_000, 25), (20_000, 15_000, 25), (40_000, 40_000, 25), (66_225, 63_867, 87)),
        *((66_667, 48_828, 22_987), (100_000, 35_156, 44_987)),
    ]
    run = Found(found(made, *(load(LINUX, *one) for one in table_3)))
    one = knee(run, LINUX)
    assert one is not None
    assert (one.rate, one.seen) == (66_225, True), "20,000 alone is a disturbance"
    verdicts = {claim.text: verdict for claim, verdict, _ in context(run.results).claims if verdict}
    assert verdicts["Past the collapse throughput falls as the input rate rises."] is Verdict.HOLDS
    calm = knee(Found(found(made, *(load(LINUX, *one) for one in table_3[2:4]))), LINUX)
    assert calm is not None
    assert (calm.rate, calm.seen) == (66_225, False)
    assert knee(run, NORMAL) is None


def test_a_gigabit_link_carries_as_many_frames_as_the_paper_says() -> None:
    assert line_rate(64) == 1_488_095
    assert round(line_rate(64) * 512 / 1e6) == 762  # table 1: 760 Mbit/s


@pytest.mark.parametrize("name", NAMES)
def test_a_report_of_one_exhibit_has_the_claims_about_it_alone(name: str) -> None:
    known = {exhibit.name for exhibit in paper(name).exhibits}
    for claim in paper(name).claims:
        assert set(claim.exhibits.split(", ")) <= known, claim.text
    for one in known:
        report = context(found(plan(name, [one], {}, quick=True), load(LINUX, 1, 1, 1)))
        assert [part.exhibit.name for part in report.parts] == [one]
        assert all(one in claim.exhibits for claim, _, _ in report.claims)


def test_loads_below_congestion_say_up_to_which_rate_they_went() -> None:
    made = plan("yu", ["table 3"], {"rate": [1.0, 1_000.0]}, quick=True)
    run = found(made, *(load(LINUX, rate, rate, 25) for rate in (1, 1_000)))
    claims = {claim.text: (verdict, said) for claim, verdict, said in context(run).claims}
    verdict, said = claims["A congested link adds two to three orders of magnitude of latency."]
    assert verdict is Verdict.UNSEEN
    assert said.startswith("No device was congested up to 1,000 frames/s, the highest load of this")


@pytest.mark.parametrize(("late", "verdict"), [(26, Verdict.HOLDS), (90, Verdict.FAILS)])
def test_latency_up_to_56_percent_is_judged(late: float, verdict: Verdict) -> None:
    made = plan("yu", ["table 3"], {}, quick=True)
    loads = [(1_000, 25, 0.1), (40_000, late, 0.5), (62_500, 200, 0.9)]
    samples = [load(LINUX, rate, rate, latency, cores) for rate, latency, cores in loads]
    samples += [load(WIRE, rate, rate, 1, 0) for rate, _, _ in loads]
    claims = {claim.text: one for claim, *one in context(found(made, *samples)).claims}
    judged, said = claims["Up to an occupancy of 56 % latency is satisfactory."]
    assert judged is verdict
    assert "Up to 56 % there are Linux bridge 40,000 frames/s." in said


def test_cache_misses_are_judged_where_they_are_counted() -> None:
    made = plan("varis", ["table 2"], {}, quick=True)
    at = {"addresses": 2.0, "duplex": 1.0}
    counted = {"bridge:misses": 0.04, "br_fdb_update:references": 0.42, "br_fdb_update:misses": 0.0}
    counted |= {"fdb_find_rcu:references": 0.41, "nf_hook_slow:misses": 0.6}
    texts = "The table's functions have most cache", "Most cache misses are netfilter's."
    for values, verdict in ((counted, Verdict.HOLDS), ({"x:time": 0.1}, Verdict.UNSEEN)):
        sample = Sample(test=Measurement.PROFILE, device=LINUX, repetition=0, at=at, values=values)
        claims = context(found(made, sample)).claims
        judged = [one for claim, one, _ in claims if claim.text.startswith(texts)]
        assert judged == [verdict] * 2


def test_a_large_mtu_across_hosts_is_judged_where_it_was_asked_for() -> None:
    claim = "Across hosts a large MTU changes nothing (give `--figure 3 --mtu 9000`)."
    for mtu, verdict in ((9_000, Verdict.HOLDS), (1_500, Verdict.UNMEASURED)):
        made = plan("ibm", ["figure 3"], {"payload": [64], "pairs": [1], "mtu": [mtu]}, quick=True)
        (point,) = made.points
        assert (point.at["mtu"], point.at["machines"]) == (mtu, 2)
        samples = [
            Sample(
                test=Measurement.PAIRS,
                device=device,
                repetition=number,
                at=point.at,
                values={"throughput": 100},
            )
            for number in range(3)
            for device in (LINUX, NORMAL)
        ]
        verdicts = {one.text: judged for one, judged, _ in context(found(made, *samples)).claims}
        assert verdicts[claim] is verdict


def test_what_the_paper_has_not_is_refused() -> None:
    with pytest.raises(BenchError, match=r"table 9: the paper's exhibits are table 1, figure 7"):
        plan("yu", ["table 9"], {}, quick=True)
    with pytest.raises(BenchError, match="--rate: nothing"):
        plan("yu", ["figure 11"], {"rate": [1.0]}, quick=True)


def test_each_load_is_measured_once_for_all_devices_that_show_it() -> None:
    made = plan("yu", [], {}, quick=True)
    loads = [(point.test, tuple(sorted(point.at.items()))) for point in made.points]
    assert len(loads) == len(set(loads))
    nominal = next(one for one in made.points if one.at == {"size": 1500, "rate": 1_000})
    assert nominal.exhibits == ("figure 7", "figure 10", "figure 13")
    bridges = {Dut.LINUX, Dut.NORMAL, Dut.OFAPP}
    assert bridges | {Dut.ROUTER} == set(nominal.duts)
    net = next(one for one in made.points if one.at == {"size": 64, "rate": 20_000})
    assert bridges | {Dut.WIRE} == set(net.duts), "occupancy is less the wire's"


def rates(repetitions: list[tuple[float, float]]) -> Results:
    """Flat-out rates with 64 octets of bridge and router, in each repetition."""
    made = plan("yu", ["figure 14"], {}, quick=True)
    return found(
        made,
        *(
            Sample(
                test=Measurement.OVERLOAD,
                device=device,
                repetition=number,
                at={"size": 64},
                values={"rate": rate, "mbps": rate},
            )
            for number, pair in enumerate(repetitions)
            for device, rate in zip((LINUX, "Linux router"), pair, strict=True)
        ),
    )


@pytest.mark.parametrize(
    ("repetitions", "verdict"),
    [
        pytest.param(
            [(200, 100), (100, 50), (400, 200)], Verdict.HOLDS, id="a machine that drifts"
        ),
        pytest.param([(100, 200), (50, 100), (200, 400)], Verdict.FAILS, id="the other way round"),
        pytest.param([(105, 100), (95, 100), (103, 100)], Verdict.UNSEEN, id="within the noise"),
        pytest.param([(105, 100)], Verdict.UNSEEN, id="one run says little"),
        pytest.param([(150, 100)], Verdict.HOLDS, id="but much is much"),
    ],
)
def test_a_verdict_is_that_of_all_repetitions(
    repetitions: list[tuple[float, float]], verdict: Verdict
) -> None:
    claims = {claim.text: one for claim, one, _ in context(rates(repetitions)).claims}
    assert claims["With small frames the bridge forwards more than the router."] is verdict


def test_half_duplex_is_for_what_is_sent_both_ways_and_the_report_says_so(tmp_path: Path) -> None:
    made = plan("varis", ["table 1"], {}, quick=True, duplex=Duplex.HALF)
    at = {"addresses": 2.0, "duplex": 1.0}
    values = {"interface:time": 0.5}
    sample = Sample(test=Measurement.PROFILE, device=LINUX, repetition=0, at=at, values=values)
    found(made, sample).write(tmp_path)
    write([tmp_path], tmp_path)
    assert "Half duplex: frames go one way here" in (tmp_path / "report.md").read_text()
    with pytest.raises(BenchError, match="--duplex: nothing"):
        plan("yu", [], {}, quick=True, duplex=Duplex.HALF)


def test_guests_are_for_pairs_and_need_a_kernel(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="--guests: nothing of that is done by pairs"):
        in_guests(plan("yu", [], {}, quick=True), tmp_path)
    with pytest.raises(BenchError, match=r"^guests: (not installed|no boot/vmlinuz)"):
        in_guests(plan("ibm", [], {}, quick=True), tmp_path)


def test_what_the_emulation_decides_is_no_verdict(tmp_path: Path) -> None:
    made = plan("ibm", ["figure 1"], {"payload": [64], "pairs": [1]}, quick=True)
    at = {"pairs": 1.0, "payload": 64.0, "mtu": 1_500.0, "machines": 1.0}
    samples = [
        Sample(
            test=Measurement.PAIRS, device=device, repetition=0, at=at, values={"throughput": 100}
        )
        for device in (LINUX, NORMAL)
    ]
    claim = "Small and medium transactions are alike on both bridges."
    for emulated in (False, True):
        run = found(made.model_copy(update={"guests": "/", "emulated": emulated}), *samples)
        report = context(run)
        assert ("the emulation sets the speed" in report.machine) is emulated
        verdicts = {one.text: verdict for one, verdict, _ in report.claims}
        assert verdicts[claim] is Verdict.UNSEEN, "one repetition has a noise of 10 %"
        sentence = next(said for one, _, said in report.claims if one.text == claim)
        assert ("the emulation sets the speed" in sentence) is emulated


def test_a_far_machine_is_for_what_is_across_two_and_needs_a_cable() -> None:
    remote = Remote(host="far", link="eth1", far_link="eth2")
    made = across(plan("ibm", [], {}, quick=True), remote)
    assert {point.at["machines"] for point in made.points} == {2}
    with pytest.raises(BenchError, match="nothing of that is measured across"):
        across(plan("yu", [], {}, quick=True), remote)
    with pytest.raises(BenchError, match="give --link"):
        across(plan("ibm", [], {}, quick=True), remote.model_copy(update={"link": ""}))
