"""One etcd for all of these tests; each has separate keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ofapp.common import hub
from tests.support import etcd_nodes


@pytest.fixture(autouse=True)
def _nothing_goes_on(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What members begin for ever ends with the test: a later one that has no time pass would wait
    for it for ever."""
    spawned, spawn = [], hub.spawn

    def spawn_here(*arguments: Any, **named: Any) -> Any:
        spawned.append(spawn(*arguments, **named))
        return spawned[-1]

    monkeypatch.setattr(hub, "spawn", spawn_here)
    yield
    for greenlet in spawned:
        hub.kill(greenlet)


@pytest.fixture(scope="session")
def real_etcd() -> Iterator[etcd_nodes.EtcdNodes]:
    if why := etcd_nodes.missing():
        pytest.skip(why)
    nodes = etcd_nodes.EtcdNodes()
    yield nodes
    nodes.close()
