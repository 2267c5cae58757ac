"""The files of mininet/, loaded as `mn --custom` loads them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "mininet"
LABS = sorted(FOLDER.glob("lab_*.py"))
TOPOLOGIES = {  # what to ask for: switches, hosts, links among switches
    "single,5": (1, 5, 0),
    "ring,5,2": (5, 10, 5),
    "mesh,5": (5, 5, 10),
    "tree,3,2": (7, 8, 6),
    "dual_homed,3,2": (5, 6, 7),
    "fabric": (3, 3, 3),
    "bond,3,1": (2, 2, 3),
    "legacy,3": (4, 4, 4),
    "multicast": (2, 5, 1),
    "curve": (1, 2, 0),
}


def load(path: Path) -> dict[str, dict[str, object]]:
    pytest.importorskip("mininet.util", reason="Debian's mininet is not linked into this Python")
    names: dict[str, dict[str, object]] = {}
    exec(compile(path.read_text(), str(path), "exec"), names, names)
    return names


@pytest.mark.parametrize("asked", TOPOLOGIES)
def test_topologies_have_the_switches_hosts_and_links_that_were_asked_for(asked: str) -> None:
    from mininet.util import buildTopo

    for path in (FOLDER / "ofapp_topo.py", FOLDER / f"lab_{asked.partition(',')[0]}.py"):
        topo = buildTopo(load(path)["topos"], asked)
        switches, hosts, trunks = TOPOLOGIES[asked]
        assert len(topo.switches()) == switches
        assert len(topo.hosts()) == hosts
        between = [link for link in topo.links() if all(topo.isSwitch(end) for end in link)]
        assert len(between) == trunks
        assert topo.page.startswith(f"Lab `{asked.partition(',')[0]}`")


def test_one_file_has_all_the_labs() -> None:
    every = set(load(FOLDER / "ofapp_topo.py")["topos"])
    assert every == {path.stem.removeprefix("lab_") for path in LABS}
    assert every == {asked.partition(",")[0] for asked in TOPOLOGIES}


@pytest.mark.parametrize("path", [FOLDER / "ofapp_topo.py", *LABS], ids=lambda path: path.stem)
def test_mn_finds_what_it_needs_and_loses_no_name_of_its_own(path: Path) -> None:
    from mininet.util import customClass

    customs = load(path)
    assert customClass(customs["switches"], "ofapp,datapath=kernel")
    assert customClass(customs["hosts"], "ofapp")
    assert customClass(customs["controllers"], "ofapp_remote,port=6654")
    assert customs["findController"]() is customs["controllers"]["ofapp"]
    # mn copies every name into its own globals: these it has with another meaning.
    assert not {"info", "error", "setLogLevel", "Mininet", "version", "cleanup"} & set(customs)


def test_the_real_mininet_is_not_shadowed() -> None:
    """Where this folder's parent is on the path, as where Python is started in the repository."""
    done = subprocess.run(
        ["/usr/bin/python3", "-c", "import mininet.net; print(mininet.__file__)"],
        cwd=FOLDER.parent,
        env={"PYTHONPATH": str(FOLDER.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("/usr/lib/python3/dist-packages/mininet/"), done.stderr
