"""PIPELINE.md shows the declared rules and a real switch's flows, and both are today's."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

import ofapp.openflow.pipeline
from ofapp.openflow.model.rule import Rule, TableId
from ofapp.openflow.pipeline.table import Table
from ofapp.openflow.pipeline.tables import PIPELINE
from tests.support import frames
from tests.support import multicast_frames as mcframes
from tests.support.accepting import Accepting
from tests.support.controller import Controller
from tests.support.hosts import learn, wait_learned
from tests.support.multicast_entries import hear_querier, wait_entry
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for
from tests.vswitchd import everything
from tests.vswitchd.fabric.bed import RING, B, Bed, know

DOCUMENT = Path(ofapp.openflow.pipeline.__file__).parent / "PIPELINE.md"
MARK = "<!-- generated -->\n"
STATISTICS = re.compile(r"(duration|n_packets|n_bytes)=[^ ]*,? *|, (?=reset_counts)")


_MEMBER = "The member of a fabric"
_KINDS = ("The plain bridge", "The bridge with everything", _MEMBER)
_OF_FABRIC = re.compile("cookie=0xfa9(1d|1e|20|21|22)|goto_table:82")

STP = """
defaults:
  stp: {enabled: true}
bridges:
  "00000000000000d0":
    ports:
      shown1: {stp: {admin_edge: true}}
      shown2: {stp: {admin_edge: true}}
"""


@pytest.fixture
def full(
    vswitchd: VSwitchd, controller_factory: Callable[[str], Controller]
) -> Iterator[tuple[Bridge, dict[str, str]]]:
    """The bridge that uses every table, and its addresses by name."""
    bridge = vswitchd.add_bridge(dpid=everything.DPID)
    with Accepting("guests") as server:
        configured = controller_factory(everything.config(server))
        everything.build(bridge, configured)
        everything.bring_about(bridge, configured)
    names = {
        everything.KEPT: "KEPT",
        everything.FULL: "FULL",
        everything.FLAPPING: "FLAPPING",
        everything.FIXED: "FIXED",
        everything.BOUND: "BOUND",
        everything.ADMITTED: "ADMITTED",
        everything.OPENER: "OPENER",
        _own_address(configured, bridge): "OWN",
    }
    yield bridge, names
    bridge.destroy()


@pytest.fixture
def controller(controller_factory: Callable[[str], Controller]) -> Controller:
    """One with spanning tree, as is the default."""
    return controller_factory(STP)


def test_the_document_is_todays(
    vswitchd: VSwitchd, controller: Controller, full: tuple[Bridge, dict[str, str]]
) -> None:
    bridge = vswitchd.add_bridge(dpid=0xD0)
    for number in (1, 2):
        bridge.add_port(number, f"shown{number}")
    controller.connect(bridge)
    names = {learn(controller, bridge, 1, port=1): "A", frames.host(3): "S"}
    learn_in_vlan = learn(controller, bridge, 2, port=2, vlan=7)
    names[learn_in_vlan] = "B"
    static = f"/v1/bridges/{bridge.dpid16}/fdb/0/{frames.host(3)}"
    assert controller.api("PUT", static, {"port": bridge.port_name(2)}).status == 201
    mac_group = f"/v1/bridges/{bridge.dpid16}/mdb/0/01:00:01:c0:ff:ee/1"
    assert controller.api("PUT", mac_group).status == 201
    wait_entry(bridge, "01:00:01:c0:ff:ee", {1})
    names[_own_address(controller, bridge)] = "OWN"
    hear_querier(bridge, 2)
    wait_learned(controller, bridge, frames.host(250), 2)
    bridge.inject(1, mcframes.join(1, "239.1.1.1"))
    wait_entry(bridge, "239.1.1.1", {1, 2})
    bridge.inject(1, mcframes.report(1, (mcframes.ALLOW, "232.1.1.1", ("10.0.0.9",))))
    wait_entry(bridge, "232.1.1.1", {1, 2}, source="10.0.0.9")
    names[frames.host(250)] = "R"
    # The switch's clock runs ahead while it is waited for: a lease may be over before its renewal.
    wait_for(lambda: all(_leased(shown) for shown in (bridge, full[0])), "both leases")
    wait_for(lambda: _present(full[0]), "the controller to be present")

    bed = Bed(vswitchd, RING, shared={1: {11: (2,)}})
    know(bed, 2, vid=7)
    names[B] = "B"
    shown = ((bridge, names), full, (bed.members[1].bridge, names))
    text = "\n".join(_section(table, shown) for table in PIPELINE) + _groups(bridge, full[0])
    bed.close()
    if os.environ.get("OFAPP_WRITE_PIPELINE"):
        DOCUMENT.write_text(DOCUMENT.read_text().partition(MARK)[0] + MARK + text)
    assert DOCUMENT.read_text().partition(MARK)[2] == text
    bridge.destroy()


def _leased(bridge: Bridge) -> bool:
    table = f"table={int(TableId.OWNER)}"
    return "cookie=" in bridge.switch.ofctl("dump-flows", bridge.name, table)


def _present(bridge: Bridge) -> bool:
    table = f"table={int(TableId.AWAY)}"
    return "hard_timeout" in bridge.switch.ofctl("dump-flows", bridge.name, table)


def _section(table: Table, shown: Sequence[tuple[Bridge, dict[str, str]]]) -> str:
    rules = "\n".join(f"- **{rule.name}** ({_terms(rule)}): {rule.about}" for rule in table.rules)
    text = f"\n## `{table.name}` (table {int(table.id)})\n\n{table.about}\n\n{rules}\n"
    for kind, (bridge, names) in zip(_KINDS, shown, strict=True):
        lines = _flows(table, bridge, names)
        if kind == _MEMBER:
            lines = [line for line in lines if _OF_FABRIC.search(line)]
        if lines:
            dump = "\n".join(lines)
            text += f"\n{kind}:\n\n```text\n{dump}\n```\n"
    return text


def _terms(rule: Rule) -> str:
    matched = ", ".join(sorted(rule.match)) or "everything else"
    if rule.lowest is not None:
        matched += " and what the user says"
    elif rule.optional:
        matched += f" and, as far as needed, {', '.join(sorted(rule.optional))}"
    lowest = "" if rule.lowest is None else f"{rule.lowest} to "
    return f"priority {lowest}{rule.priority}, matches {matched}"


def _flows(table: Table, bridge: Bridge, names: dict[str, str]) -> list[str]:
    text = bridge.switch.ofctl(
        "--no-names", "--sort", "dump-flows", bridge.name, f"table={int(table.id)}"
    )
    lines = []
    for line in text.splitlines():
        if "cookie=" not in line:
            continue
        line = re.sub("metadata=0/0x[0-9a-f]+", "metadata=0/ID", line)
        line = STATISTICS.sub("", line).replace(f"table={int(table.id)}, ", "").strip()
        for mac, name in names.items():
            line = line.replace(mac, name)
        lines.append(line)
    return lines


def _groups(plain: Bridge, full: Bridge) -> str:
    text = "\n\n## Groups\n"
    for kind, bridge in (("The plain bridge", plain), ("The bridge with everything", full)):
        dump = bridge.switch.ofctl("--no-names", "dump-groups", bridge.name)
        lines = sorted(line.strip() for line in dump.splitlines() if "group_id=" in line)
        text += f"\n{kind}:\n\n```text\n" + "\n".join(lines) + "\n```\n"
    return text


def _own_address(controller: Controller, bridge: Bridge) -> str:
    reply = controller.api("GET", f"/v1/bridges/{bridge.dpid16}/fdb?type=local")
    (entry,) = reply.body["entries"]
    return str(entry["mac"])
