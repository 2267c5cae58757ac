"""Bad parameters are refused by name; the heap of deadlines on its own."""

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.multicast import ParamError, Params, PortParams, VlanParams, parse, text
from ofapp.bridge.multicast.timers import Timed, Timers


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (PortParams, "mcast_router", 3),
        (PortParams, "mcast_router", True),
        (PortParams, "mcast_fast_leave", 1),
        (PortParams, "mcast_max_groups", -1),
        (PortParams, "mcast_flood_unregistered", None),
        (VlanParams, "mcast_snooping", "yes"),
        (VlanParams, "mcast_querier", 1),
        (VlanParams, "mcast_igmp_version", 1),
        (VlanParams, "mcast_igmp_version", 4),
        (VlanParams, "mcast_mld_version", 3),
        (VlanParams, "mcast_last_member_count", 0),
        (VlanParams, "mcast_last_member_interval", 0),
        (VlanParams, "mcast_last_member_interval", nan),
        (VlanParams, "mcast_membership_interval", inf),
        (VlanParams, "mcast_querier_interval", "255"),
        (VlanParams, "mcast_query_interval", 31745.0),
        (VlanParams, "mcast_query_response_interval", 125.1),
        (VlanParams, "mcast_query_response_interval", 0.0),
        (VlanParams, "mcast_startup_query_count", 2.0),
        (VlanParams, "mcast_startup_query_interval", True),
        (VlanParams, "mcast_querier_address4", "fe80::1"),
        (VlanParams, "mcast_querier_address4", "239.1.1.1"),
        (VlanParams, "mcast_querier_address4", "nonsense"),
        (VlanParams, "mcast_querier_address6", "2001:db8::1"),
        (VlanParams, "mcast_querier_address6", "10.0.0.1"),
        (VlanParams, "mcast_flood_unregistered", 0),
        (VlanParams, "mcast_report_suppression", 0),
        (Params, "mcast_snooping", None),
        (Params, "mcast_hash_max", 0),
        (Params, "mcast_max_sources", 89),
        (Params, "mcast_eht_hosts_limit", 0),
        (Params, "strict", 1),
        (Params, "vlan", None),
    ],
)
def test_refused_by_name(kind: type, name: str, value: object) -> None:
    with pytest.raises(ParamError, match=rf"^{name}: must be ") as error:
        kind(**{name: value})
    assert error.value.field == name


def test_defaults_are_those_of_the_linux_bridge() -> None:
    vlan = VlanParams()
    assert (vlan.mcast_last_member_count, vlan.mcast_last_member_interval) == (2, 1.0)
    assert (vlan.mcast_membership_interval, vlan.mcast_querier_interval) == (260.0, 255.0)
    assert (vlan.mcast_query_interval, vlan.mcast_query_response_interval) == (125.0, 10.0)
    assert (vlan.mcast_startup_query_count, vlan.mcast_startup_query_interval) == (2, 31.25)
    assert (Params().mcast_hash_max, Params().mcast_eht_hosts_limit) == (4096, 512)
    assert PortParams() == PortParams(1, False, 0, False)


@pytest.mark.parametrize("address", ["239.1.1.1", "ff05::1:3"])
def test_addresses_as_text(address: str) -> None:
    assert text(parse(address)) == address
    with pytest.raises(ValueError, match="nonsense"):
        parse("nonsense")


class Alarm(Timed):
    """Rings at each of its times."""

    def __init__(self) -> None:
        super().__init__((0, False))
        self.at = inf
        self.rung: list[float] = []

    def deadline(self) -> float:
        return self.at

    def expire(self, now: float) -> None:
        assert self.at <= now
        self.rung.append(self.at)
        self.at = inf


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 30), st.booleans()), max_size=200))
def test_timers_ring_once_each_and_never_early_or_late(
    moves: list[tuple[int, int, bool]],
) -> None:
    timers, alarms = Timers(), [Alarm() for _ in range(4)]
    expected: list[list[float]] = [[] for _ in alarms]
    now = 0.0
    for which, delay, advance in moves:
        alarm = alarms[which]
        alarm.at = inf if delay < 0 else now + delay
        if alarm.at == inf:
            timers.set(alarm, None)
        timers.update(alarm)
        wanted = min((a.at for a in alarms), default=inf)
        due = timers.next()
        assert (due is None) == (wanted == inf) or due is not None
        assert due is None or due <= wanted
        if advance:
            now += 5.0
            for alarm, rung in zip(alarms, expected, strict=True):
                if alarm.at <= now:
                    rung.append(alarm.at)
            for alarm in timers.run(now):
                assert isinstance(alarm, Alarm)
                alarm.expire(now)
            assert [alarm.rung for alarm in alarms] == expected
        assert len(timers) <= 2 * 4 + 65
