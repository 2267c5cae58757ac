"""Room for what hosts cause, shared by ports."""

from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.first_hop.dhcp.quota import PortQuota

KEYS, PORTS = st.integers(0, 9), st.integers(1, 3)


def keys(quota: PortQuota[int, str]) -> list[int]:
    return [key for key, _ in quota]


def test_a_port_without_room_loses_its_oldest() -> None:
    quota: PortQuota[int, str] = PortQuota(2, 9)
    for key, port in ((1, 1), (2, 1), (3, 2), (4, 1)):
        quota.put(key, port, "x")
    assert keys(quota) == [2, 3, 4]
    quota.put(2, 1, "newer")
    assert keys(quota) == [3, 4, 2]
    assert (quota.get(2), quota.get(1), quota.replaced) == ("newer", None, 1)


def test_without_any_room_the_oldest_of_all_is_lost() -> None:
    quota: PortQuota[int, str] = PortQuota(2, 3)
    for key, port in ((1, 1), (2, 2), (3, 2), (4, 3)):
        quota.put(key, port, "x")
    assert keys(quota) == [2, 3, 4]
    quota.drop_port(2)
    assert keys(quota) == [4]
    assert quota.oldest() == (4, "x")
    quota.drop(4)
    quota.drop(4)
    assert quota.oldest() is None


@given(st.lists(st.tuples(KEYS, PORTS, st.sampled_from(("put", "drop", "drop_port")))))
def test_it_is_as_a_plain_list_would_be(steps: list[tuple[int, int, str]]) -> None:
    quota: PortQuota[int, str] = PortQuota(2, 5)
    model: list[tuple[int, int]] = []
    for key, port, action in steps:
        if action == "drop_port":
            quota.drop_port(port)
            model = [each for each in model if each[1] != port]
            continue
        quota.drop(key)
        model = [each for each in model if each[0] != key]
        if action == "put":
            mine = [each for each in model if each[1] == port]
            if len(mine) >= 2:
                model.remove(mine[0])
            elif len(model) >= 5:
                del model[0]
            quota.put(key, port, "x")
            model.append((key, port))
        assert keys(quota) == [key for key, _ in model]
