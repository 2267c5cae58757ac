"""A protocol is added to a copy of ofapp, and used through a real switch.

`beacon/` has all of it: a kind of frames, parameters, a stored document, a table, a kind of content
of the switch, events, a metric, a REST resource and a command.  `ENTRIES` is what changes
elsewhere: one entry in each list, and its import.  *How to add something* in ofapp/README.md
explains each.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import pytest

import ofapp
from tests.support import frames
from tests.support.controller import Controller
from tests.support.flows import Flow
from tests.support.ovs import LOCAL, Bridge, VSwitchd
from tests.support.waiting import wait_for

DPID = 0xBEAC
BEACON = frames.ethernet(frames.BROADCAST, frames.host(1), ethertype=0x88B6)
OTHER = frames.ethernet(frames.BROADCAST, frames.host(1))


class Entry(NamedTuple):
    """What is added to a list, and where it is imported from, if it is imported.

    after: the entry that it follows; by default the last one.
    """

    file: str
    list: str
    entry: str
    imported: str = ""
    after: str = ""


ENTRIES = (
    Entry("bridge/bridge.py", "PROTOCOLS", "Beacons", "bridge.beacon.on_bridge import Beacons"),
    Entry(
        "bridge/params/params.py",
        "BridgeParams",
        'beacon: Annotated[BeaconParams | None, Section("beacons", "Count beacons.")] = None',
        "bridge.beacon.params import BeaconParams",
    ),
    Entry("openflow/model/traps.py", "TRAPS", "BEACON", "openflow.model.beacon import BEACON"),
    Entry(
        "openflow/pipeline/tables.py",
        "_DECLARED",
        "BEACON",
        "openflow.pipeline.beacon import BEACON",
        after="ACCESS",
    ),
    Entry(
        "openflow/pipeline/parts.py",
        "KINDS",
        "ClosedPort: CLOSED",
        "openflow.pipeline.beacon_kind import CLOSED, ClosedPort",
    ),
    Entry(
        "controller/state/documents.py",
        "DOCUMENTS",
        "BEACON",
        "controller.state.beacon import BEACON",
    ),
    Entry("api/event_kinds.py", "SUBJECTS", "beacon", "bridge.beacon import events as beacon"),
    Entry("api/app.py", "RESOURCES", "beacon", "api.resources.bridge import beacon"),
    Entry("api/metrics/metrics.py", "COLLECTORS", "beacon", "api.metrics import beacon"),
    Entry("cli/app.py", "COMMANDS", '"beacon": CommandEntry("beacon.app", "Beacons.")'),
)


def add(root: Path, entry: Entry) -> None:
    """Write an entry into its list, and its import."""
    path = root / entry.file
    lines = path.read_text().split("\n")
    (node,) = (node for node in ast.parse("\n".join(lines)).body if _name(node) == entry.list)
    if isinstance(node, ast.ClassDef):
        fields = [field for field in node.body if isinstance(field, ast.AnnAssign)]
        lines.insert(fields[-1].end_lineno or 0, f"    {entry.entry}")
    else:
        value = node.value  # type: ignore[attr-defined]
        entries = value.keys if isinstance(value, ast.Dict) else value.elts
        at = entries[-1]
        if entry.after:
            (at,) = (one for one in entries if ast.unparse(one) == entry.after)
        if isinstance(value, ast.Dict):
            at = value.values[-1]
        row, column = at.end_lineno - 1, at.end_col_offset
        lines[row] = f"{lines[row][:column]}, {entry.entry}{lines[row][column:]}"
    if entry.imported:
        first = lines.index("from __future__ import annotations") + 1
        lines.insert(first, f"from ofapp.{entry.imported}")
    path.write_text("\n".join(lines))


def _name(node: ast.stmt) -> str:
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", node)
    return getattr(target, "id", "") or getattr(target, "name", "")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ofapp and the protocol."""
    top = tmp_path_factory.mktemp("added")
    source = Path(ofapp.__file__).parent
    shutil.copytree(source, top / "ofapp", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(Path(__file__).with_name("beacon") / "ofapp", top / "ofapp", dirs_exist_ok=True)
    for entry in ENTRIES:
        add(top / "ofapp", entry)
    return top


@pytest.fixture(scope="module")
def controller(controller_factory: Callable[[str], Controller], tree: Path) -> Iterator[Controller]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tree))
        patch.setattr(Controller, "preloaded", False)  # it has another ofapp
        yield controller_factory(repr({"bridges": {f"{DPID:016x}": {"beacon": {"enabled": True}}}}))


def heard(controller: Controller, bridge: Bridge) -> dict[str, int]:
    answer = controller.get(f"/v1/bridges/{bridge.dpid16}/beacon")
    assert answer["enabled"]
    return {port: count for port, count in answer["heard"].items() if count}


def _drops(flow: Flow) -> bool:
    return (flow.table, flow.priority) == (6, 10)


def test_a_protocol_is_its_own_files_and_one_entry_in_each_list(
    vswitchd: VSwitchd, controller: Controller, tree: Path
) -> None:
    bridge = vswitchd.add_bridge(ports=2, dpid=DPID)
    controller.connect(bridge)
    name = bridge.port_name(1)

    # The frames come to the controller alone, are counted, and metered by port.
    assert bridge.send(1, BEACON) == set()
    assert bridge.send(1, OTHER) == {2, LOCAL}
    wait_for(lambda: heard(controller, bridge) == {name: 1}, "a beacon to be counted")
    port = controller.get(f"/v1/bridges/{bridge.dpid16}/ports/{name}")
    assert "beacon" in port["held_back"]

    # A parameter: refused by the bounds of its declaration, and set; then the switch drops beacons.
    path = f"/v1/bridges/{bridge.dpid16}/beacon"
    refused = controller.api("PATCH", path, {"limit": 0})
    assert (refused.status, refused.body["errors"][0]["field"]) == (422, "limit")
    assert controller.api("PATCH", path, {"limit": 2}).status == 200
    assert [event["data"] for event in controller.events("beacon.set")] == [{"limit": 2}]
    bridge.inject(1, BEACON)
    wait_for(lambda: controller.events("beacon.closed"), "the port to be closed")
    wait_for(lambda: any(_drops(flow) for flow in bridge.flows()), "the flow that drops them")
    assert bridge.send(1, BEACON) == set()
    assert bridge.send(1, OTHER) == {2, LOCAL}
    assert heard(controller, bridge) == {name: 2}

    # The stored document, and the setting, outlive the process.
    stored = controller.dir / "state" / f"beacon-{bridge.dpid16}.json"
    wait_for(lambda: f'"{name}": 2' in stored.read_text(), "the count to be stored")
    controller.restart()
    controller.wait_ready(bridge)
    assert heard(controller, bridge) == {name: 2}
    assert bridge.send(1, BEACON) == set()
    assert heard(controller, bridge) == {name: 2}

    # The flow goes with its port, and comes back with it.
    bridge.del_port(1)
    wait_for(lambda: not any(_drops(flow) for flow in bridge.flows()), "the flow to go")
    bridge.add_port(1, name)
    wait_for(lambda: any(_drops(flow) for flow in bridge.flows()), "the flow to come back")

    kinds = controller.get("/v1/events/kinds", kind="beacon")["kinds"]
    assert {"beacon.closed", "beacon.limited"} <= {kind["kind"] for kind in kinds}
    metrics = urlopen(f"http://127.0.0.1:{controller.api_port}/metrics").read().decode()
    assert f'ofapp_beacons_total{{bridge="{bridge.name}",datapath_id="{bridge.dpid16}"' in metrics
    shown = subprocess.run(
        [sys.executable, "-m", "ofapp", "beacon", "show", bridge.name],
        cwd=tree,
        env=os.environ | {"OFAPP_API": f"http://127.0.0.1:{controller.api_port}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.split() == ["PORT", "HEARD", name, "2"]
    bridge.destroy()
