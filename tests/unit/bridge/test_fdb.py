"""Serials of learned addresses: cohorts, by which a switch is looked at piece by piece."""

from ofapp.bridge.fdb.fdb import COHORT_SIZE, COHORTS, Entry, EntryType, Fdb


def learn(fdb: Fdb, first: int, count: int, vid: int = 0) -> list[int]:
    """New hosts; gives their serials."""
    serials = []
    for mac in range(first, first + count):
        serials.append(fdb.next_serial())
        fdb.add(vid, mac, Entry(1, EntryType.LEARNED, serials[-1], 0.0))
    return serials


def test_addresses_that_come_together_share_a_serial_and_not_too_many_do() -> None:
    fdb = Fdb()
    serials = learn(fdb, 0, 3 * COHORT_SIZE)
    assert serials == [serial for serial in (1, 2, 3) for _ in range(COHORT_SIZE)]
    assert [mac for _, mac, _ in fdb.cohort(2)] == list(range(COHORT_SIZE, 2 * COHORT_SIZE))
    assert fdb.cohorts() == [1, 2, 3]


def test_there_are_only_so_many_serials_and_all_get_their_share() -> None:
    fdb = Fdb()
    learn(fdb, 0, (COHORTS + 2) * COHORT_SIZE)
    assert sorted(fdb.cohorts()) == list(range(1, COHORTS + 1))
    sizes = [len(fdb.cohort(serial)) for serial in fdb.cohorts()]
    assert (min(sizes), max(sizes)) == (COHORT_SIZE, 2 * COHORT_SIZE)


def test_another_life_has_another_serial_even_in_the_same_moment() -> None:
    fdb = Fdb()
    learn(fdb, 0, 2)
    entry = fdb.get(0, 1)
    assert entry is not None
    seen = [entry.serial]
    for _ in range(COHORTS):
        fdb.renew(0, 1, entry)
        assert entry.serial != seen[-1]
        seen.append(entry.serial)
    assert {mac for _, mac, _ in fdb.cohort(entry.serial)} == ({0, 1} if entry.serial == 1 else {1})


def test_who_is_gone_or_has_another_serial_is_in_the_cohort_no_more() -> None:
    fdb = Fdb()
    learn(fdb, 0, 4)
    fdb.remove(0, 0)
    entry = fdb.get(0, 1)
    assert entry is not None
    fdb.renew(0, 1, entry)
    fdb.remove(0, 2)
    fdb.add(0, 2, Entry(2, EntryType.STATIC, 1, 0.0))
    assert [mac for _, mac, _ in fdb.cohort(1)] == [3]
    fdb.remove(0, 3)
    assert fdb.cohort(1) == []
    assert fdb.cohorts() == [entry.serial]


def test_hosts_that_come_and_go_for_ever_take_no_memory_once_looked_at() -> None:
    fdb = Fdb()
    for _ in range(50):
        learn(fdb, 0, COHORT_SIZE)
        for mac in range(COHORT_SIZE):
            fdb.remove(0, mac)
        for serial in fdb.cohorts():
            fdb.cohort(serial)
        assert fdb.cohorts() == []
