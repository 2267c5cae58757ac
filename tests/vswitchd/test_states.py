"""Connections are known in their own VLAN and on their own bridge alone."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.acl_oracle import Frame
from tests.support.controller import Controller
from tests.support.ovs import Bridge, VSwitchd
from tests.vswitchd.test_acl_fields import WHOLE

ONE, OTHER = 0xAC11, 0xAC12
INNER, OUTER = 1, 2

BRIDGE = """
    stp: {{enabled: false}}
    ct_zone_block: {block}
    acls:
      lan: [{{name: all, match: {{state: [new, established, related]}}, action: allow}}]
      wan: [{{name: answers, match: {{state: [established, related]}}, action: allow}}]
    ports:
      in{block}: {{acl: lan, vlan: {{trunk: [7, 8]}}}}
      out{block}: {{acl: wan, vlan: {{trunk: [7, 8]}}}}
"""
CONFIG = "bridges:" + "".join(
    f"\n  {dpid:016x}:" + BRIDGE.format(block=block) for dpid, block in ((ONE, 1), (OTHER, 2))
)


@pytest.fixture(scope="module")
def two(
    vswitchd: VSwitchd, controller_factory: Callable[[str], Controller]
) -> tuple[Bridge, Bridge]:
    """Two bridges of one ovs-vswitchd."""
    controller = controller_factory(CONFIG)
    one, other = (
        controller.connect(vswitchd.add_bridge(dpid=dpid, ports=(f"in{block}", f"out{block}")))
        for block, dpid in ((1, ONE), (2, OTHER))
    )
    return one, other


def test_an_answer_passes_where_the_question_was_asked(two: tuple[Bridge, Bridge]) -> None:
    here, elsewhere = two
    question = replace(WHOLE, ports=(5000, 53), vid=7)
    assert question.ip is not None
    answer = replace(
        question,
        src=question.dst,
        dst=question.src,
        ip=(question.ip[1], question.ip[0]),
        ports=(53, 5000),
    )
    asked, answered = _data(question), _data(answer)
    assert here.send(OUTER, answered) == set()
    assert OUTER in here.send(INNER, asked)
    assert INNER in here.send(OUTER, answered)
    assert here.send(OUTER, _data(replace(answer, vid=8))) == set()
    assert elsewhere.send(OUTER, answered) == set()
    assert INNER in here.send(OUTER, answered)


def _data(frame: Frame) -> bytes:
    """A tagged frame with the checksum of its IPv4 header, without which it is invalid."""
    data = frame.data()
    total = sum(struct.unpack("!10H", data[18:38]))
    total = (total & 0xFFFF) + (total >> 16)
    return data[:28] + struct.pack("!H", ~total & 0xFFFF) + data[30:]
