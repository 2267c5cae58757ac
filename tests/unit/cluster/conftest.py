"""One etcd for all of these tests; each has keys of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import etcd_nodes


@pytest.fixture(scope="session")
def real_etcd() -> Iterator[etcd_nodes.EtcdNodes]:
    if why := etcd_nodes.missing():
        pytest.skip(why)
    nodes = etcd_nodes.EtcdNodes()
    yield nodes
    nodes.close()
