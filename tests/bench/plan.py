"""Processor time of the controller for a failed link of a fabric, by members.

Nothing is sent: what is measured is making the plan, and the messages of the three steps that
change all members to it.  Beside it: encoding the same flows one by one, as a comparison does.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.effects.fabric import Content, DesiredFabric
from ofapp.bridge.fabric.plans.graph import Link
from ofapp.bridge.fabric.plans.update import Updates
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import PortTable
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.openflow.pipeline.entries import GroupNumbers
from ofapp.openflow.pipeline.flows import version_flows
from ofapp.openflow.pipeline.part import Context
from ofapp.openflow.switch.encode.fabric import FabricWriter
from ofapp.openflow.switch.installed import Installed
from ofapp.openflow.wire.messages import codec
from tests.bench.table import head, row
from tests.support.fabric import large_graph, link_ports

_CONTEXT = Context(PortPolicies(BridgeParams(), PortTable()), True, GroupNumbers())


class Fabric:
    """The controller's part for all members.  spent: seconds of processor time, by what for."""

    def __init__(self, members: int) -> None:
        self.graph = large_graph(members)
        self.spent: dict[str, float] = {}
        self.octets = 0
        self._now = 0.0
        self._updates = Updates(64)
        self._held: dict[int, Content] = {}
        self._installed = {at: Installed(metered=True) for at in self.graph.members}
        self._links = {at: link_ports(self.graph, at) for at in self.graph.members}
        self._updates.set_graph(self.graph, self._now)
        for member in self.graph.members:
            self._updates.connect(member, self._now)
        self._settle()

    def fail(self, link: Link) -> None:
        """Change all members to a plan without a link, and remove the old one."""
        self.spent, self.octets = {}, 0
        with self._measured("plan"):
            self._updates.set_graph(self.graph.without(links=[link]), self._now)
        self._settle()
        self._now += 5
        self._updates.tick(self._now)
        self._settle()

    def one_by_one(self) -> float:
        """Seconds of processor time to encode all flows that the members hold, one by one."""
        begun = time.process_time()
        for installed in self._installed.values():
            for version in installed.program.versions.values():
                for flow in version_flows(version):
                    codec.add_flow_once(flow)
        return time.process_time() - begun

    def _settle(self) -> None:
        while changed := [*self._changed()]:
            for member, content in changed:
                links = self._links[member]
                desired = DesiredFabric(1, member, links, links, content)
                with self._measured("messages"):
                    messages = FabricWriter(self._installed[member]).set(desired, _CONTEXT)
                self.octets += len(messages)
                self._held[member] = content
            for member, content in changed:
                with self._measured("confirmation"):
                    self._updates.confirm(member, content, self._now)

    def _changed(self) -> Iterator[tuple[int, Content]]:
        for member in self.graph.members:
            content = self._updates.content(member)
            if content != self._held.get(member):
                yield member, content

    @contextmanager
    def _measured(self, name: str) -> Iterator[None]:
        begun = time.process_time()
        yield
        self.spent[name] = self.spent.get(name, 0.0) + time.process_time() - begun


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests/bench/run plan", description=__doc__)
    parser.add_argument("--members", type=int, nargs="*", default=[3, 20, 100])
    parser.add_argument("--turns", type=int, default=3, help="failures; the last one counts")
    given = parser.parse_args()
    parts = ("plan", "messages", "confirmation")
    print(head("members", "links", *parts, "KiB", "one by one", "ratio"))
    for members in given.members:
        fabric = Fabric(members)
        for turn in range(given.turns):
            fabric.fail(fabric.graph.links[turn])
        spent, beside = fabric.spent, fabric.one_by_one()
        figures = [_ms(spent[name]) for name in parts] + [fabric.octets // 1024, _ms(beside)]
        ratio = f"{beside / spent['messages']:.1f}"
        print(row(members, len(fabric.graph.links), *figures, ratio))


if __name__ == "__main__":
    main()
