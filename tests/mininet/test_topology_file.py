"""mininet/ofapp_topo.py, loaded as `mn --custom` loads it."""

from __future__ import annotations

from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "mininet/ofapp_topo.py"


@pytest.fixture
def customs() -> dict[str, object]:
    pytest.importorskip("mininet.util", reason="Debian's mininet is not linked into this Python")
    names: dict[str, object] = {}
    exec(compile(FILE.read_text(), str(FILE), "exec"), names, names)
    return names


def test_a_ring_is_a_loop_with_hosts(customs):
    from mininet.util import buildTopo

    topo = buildTopo(customs["topos"], "ring,5,2")
    assert len(topo.switches()) == 5
    assert len(topo.hosts()) == 10
    assert len(topo.links()) == 5 + 10
    trunks = [link for link in topo.links() if all(topo.isSwitch(end) for end in link)]
    degree = {s: sum(s in link for link in trunks) for s in topo.switches()}
    assert set(degree.values()) == {2}


def test_mn_finds_the_switch_and_the_host_and_loses_no_name_of_its_own(customs):
    from mininet.util import customClass

    assert customClass(customs["switches"], "ofapp,datapath=kernel")
    assert customClass(customs["hosts"], "ofapp")
    assert customClass(customs["controllers"], "ofapp,port=6654")
    # mn copies every name into its own globals: these it has with another meaning.
    assert not {"info", "setLogLevel", "Mininet", "version", "cleanup"} & set(customs)
