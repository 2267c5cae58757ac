"""A day of each port: what the controller keeps, within its bound, and what the API answers."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ofapp.api.cluster.merging import merge_loads
from ofapp.api.resources.history import LoadList, PortHistory
from ofapp.bridge.ports.port import PortCount
from ofapp.controller import history as module
from ofapp.controller.history import INTERVAL, KEPT, History
from ofapp.controller.network import Network
from tests.unit.api.network import DPID, lag_network, mcast_network

START = 1_800_000_000.0


class Counters:
    """Port counters that answer at once; `at` moves with each minute."""

    def __init__(self) -> None:
        self.at: float | None = 100.0
        self.latest: dict[int, PortCount] = {}

    def ask(self) -> None: ...

    def wait(self, patience: float) -> None: ...


class Bed:
    """A switch with counters, and the history of it, minute by minute."""

    def __init__(self) -> None:
        self.now = START
        self.counters = Counters()
        self.datapaths: dict[int, Any] = {1: SimpleNamespace(port_counters=self.counters)}
        self.history = History(cast(Any, self.datapaths), lambda: self.now)

    def minute(self, rx: int, tx: int, *, errors: int = 0, drops: int = 0, port: int = 1) -> None:
        """A minute passes, in which the port has these bytes and frames."""
        before = self.counters.latest.get(port, PortCount(*[0] * 8))
        more = PortCount(0, 0, rx, tx, drops, 0, errors, 0)
        self.counters.latest = {port: before.plus(more)}
        self.pass_minute()

    def pass_minute(self) -> None:
        self.now += INTERVAL
        assert self.counters.at is not None
        self.counters.at += INTERVAL
        self.history.sample()


@pytest.fixture
def bed(monkeypatch: pytest.MonkeyPatch) -> Bed:
    monkeypatch.setattr(module, "PACE", 0)
    bed = Bed()
    bed.counters.latest = {1: PortCount(*[0] * 8)}
    bed.history.sample()
    return bed


def test_a_sample_is_the_rate_of_its_minute(bed: Bed) -> None:
    assert bed.history.of(1, 1) is None
    bed.minute(600_000, 60)
    bed.minute(0, 6_000_000_000)
    samples = bed.history.of(1, 1)
    assert samples is not None
    assert samples.start == START
    assert samples.rx_bytes == [pytest.approx(10_000, rel=1e-3), 0]
    assert samples.tx_bytes == [pytest.approx(1), pytest.approx(1e8, rel=1e-3)]
    assert (samples.errors, samples.drops) == ([0, 0], [0, 0])


def test_errors_and_drops_are_kept_from_the_first_one_on(bed: Bed) -> None:
    bed.minute(60, 60)
    bed.minute(60, 60, errors=7, drops=100)
    bed.minute(60, 60)
    samples = bed.history.of(1, 1)
    assert samples is not None
    assert samples.errors == [0, pytest.approx(7, rel=1e-3), 0]
    assert samples.drops == [0, pytest.approx(100, rel=1e-3), 0]


def test_a_minute_without_an_answer_is_unknown_and_a_reset_is_no_rate(bed: Bed) -> None:
    bed.minute(60, 60)
    bed.now += INTERVAL
    bed.history.sample()  # the switch does not answer
    bed.minute(120, 120)
    bed.counters.latest = {1: PortCount(*[0] * 8)}  # ovs-vswitchd was restarted
    bed.pass_minute()
    samples = bed.history.of(1, 1)
    assert samples is not None
    assert samples.rx_bytes == [pytest.approx(1), None, pytest.approx(2, rel=1e-3), None]
    assert samples.errors == [0, None, 0, None]


def test_a_day_is_kept_and_no_more(bed: Bed) -> None:
    for _ in range(KEPT + 10):
        bed.minute(60, 60, errors=1)
    samples = bed.history.of(1, 1)
    assert samples is not None
    assert samples.start == bed.now - KEPT * INTERVAL
    assert {len(values) for values in samples[1:]} == {KEPT}
    rings = bed.history._ports[1][1]
    sizes = [ring.itemsize * len(ring) for ring in (rings._rx, rings._tx, *(rings._faults or ()))]
    assert sum(sizes) <= 12_000  # bytes a port: what the documentation says


def test_a_port_and_a_switch_that_are_gone_for_a_day_are_forgotten(bed: Bed) -> None:
    bed.minute(60, 60)
    bed.counters.latest = {2: PortCount(*[0] * 8)}
    bed.pass_minute()
    assert bed.history.of(1, 1) is not None
    bed.datapaths.clear()
    bed.now += KEPT * INTERVAL
    bed.history.sample()
    assert bed.history.of(1, 1) is None
    assert bed.history._ports == {}


def test_the_busiest_ports_of_the_last_hour(bed: Bed) -> None:
    bed.minute(6_000_000, 60)
    for _ in range(61):
        bed.minute(60, 600)
    (load,) = bed.history.busiest(5)
    assert (load.datapath_id, load.port) == (1, 1)
    assert load.rx == pytest.approx(1, rel=1e-3)  # the first minute is over an hour ago
    assert load.tx == pytest.approx(10, rel=1e-3)


def test_the_busiest_ports_are_computed_once_for_each_sample(bed: Bed) -> None:
    bed.minute(6_000_000, 60)
    first = bed.history.busiest(5)
    assert bed.history.busiest(5) is first
    bed.minute(12_000_000, 60)
    (load,) = bed.history.busiest(5)
    assert load.rx == pytest.approx(150_000, rel=1e-3)


@pytest.fixture
def network() -> Network:
    return mcast_network()


def test_the_api_answers_with_a_value_for_each_minute(network: Network, client: Any) -> None:
    path = f"/v1/bridges/{DPID}/ports/eth1/history"
    empty = PortHistory.model_validate(client.get(path).json)
    assert (empty.start, empty.rx_bytes) == (None, [])
    counters = Counters()
    network.datapaths[1] = cast(Any, SimpleNamespace(port_counters=counters))
    counters.latest = {1: PortCount(*[0] * 8)}
    network.history.take(1, 100.0, counters.latest, int(time.time()) // 60)
    latest = {1: PortCount(0, 0, 6000, 60, 0, 0, 0, 0)}
    network.history.take(1, 160.0, latest, int(time.time()) // 60)
    shown = PortHistory.model_validate(client.get(path).json)
    assert (shown.interval, shown.rx_bytes, shown.tx_bytes) == (60, [100.0], [1.0])
    (load,) = LoadList.model_validate(client.get("/v1/load").json).loads
    assert (load.bridge, load.port.name, load.rx_bytes) == ("br0", "eth1", 100.0)
    assert client.get(f"/v1/bridges/{DPID}/ports/nosuch/history").status_code == 404


def test_members_answers_are_one_list_by_load() -> None:
    def load(dpid: str, rx: float) -> dict[str, Any]:
        return {"datapath_id": dpid, "rx_bytes": rx, "tx_bytes": 0.0}

    answers = {"m1": {"loads": [load("1", 5), load("2", 9)]}, "m2": {"loads": [load("2", 7)]}}
    owners = {"1": "m1", "2": "m2"}
    merged = merge_loads(answers, owners.get)
    assert [each["rx_bytes"] for each in merged["loads"]] == [7, 5]


def test_a_member_of_an_aggregation_has_a_history_too(clients: Any) -> None:
    network = lag_network()
    client = clients(network)
    now = int(time.time()) // 60
    zero, more = PortCount(*[0] * 8), PortCount(0, 0, 6000, 60, 0, 0, 0, 0)
    network.history.take(1, 100.0, {1: zero, 4095: zero}, now)
    network.history.take(1, 160.0, {1: more, 4095: more.plus(more)}, now)
    for name, rate in (("eth1", 100.0), ("lag0", 200.0)):
        answer = client.get(f"/v1/bridges/{DPID}/ports/{name}/history").json
        assert (answer["port"]["name"], answer["rx_bytes"]) == (name, [rate])
    assert client.get(f"/v1/bridges/{DPID}/ports/eth9/history").status_code == 404
