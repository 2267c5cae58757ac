"""Questions to a switch, and answers that do not come to an end."""

import struct
from typing import Any

import pytest

from ofapp.common import hub

# isort: split
from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.openflow.wire import channel as channel_module
from ofapp.openflow.wire import requests
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.requests import (
    EndlessAnswerError,
    RequestError,
    ask,
    bodies,
    parsed,
    replies,
)
from tests.support.waiting import wait_for
from tests.unit.openflow.wire.test_channel import channel, message


def part(channel: Channel, kind: int, body: bytes, more: bool = True) -> bytes:
    """A part of the answer to the last question."""
    return message(ofp.OFPT_MULTIPART_REPLY, struct.pack("!HH4x", kind, more) + body, channel.xid)


def flow_stats(channel: Channel) -> Any:
    return parser.OFPFlowStatsRequest(channel)


def say(channel: Channel, *messages: bytes) -> None:
    """The switch says it, and it is acted on."""
    channel.receive(b"".join(messages))
    while channel.may_work():
        channel.turn()
        channel.work()


def outcome(found: list[Any]) -> Any:
    for _ in range(20):
        hub.sleep(0)
    return found[-1] if found else None


def asking(function: Any, *arguments: Any, **options: Any) -> list[Any]:
    """A greenlet that asks; gets its answer, or the error, in the list."""
    found: list[Any] = []

    def run() -> None:
        try:
            answer = function(*arguments, **options)
            found.append(answer if isinstance(answer, list) else list(answer))
        except RequestError as error:
            found.append(error)

    hub.spawn(run)
    hub.sleep(0)
    return found


def test_an_answer_of_several_messages_is_given_whole() -> None:
    made, heard = channel([])
    found = asking(bodies, made, flow_stats(made))
    say(made, part(made, ofp.OFPMP_FLOW, b"a"), part(made, ofp.OFPMP_FLOW, b"b", more=False))
    assert outcome(found) == [b"a", b"b"]
    assert made.unread_replies == 0
    assert heard.log == []


@pytest.mark.parametrize("how", ["replies", "parsed", "ask"])
def test_an_answer_without_end_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(requests, "MOST", 100_000)
    made, heard = channel([])
    arrived: list[Any] = []
    if how == "ask":
        found = asking(lambda: ask(made, flow_stats(made), arrived.append) or [])
    elif how == "parsed":
        request = parser.OFPPortDescStatsRequest(made, 0)
        found = asking(parsed, made, request, most=100_000)
    else:
        found = asking(replies, made, flow_stats(made), most=100_000)
    kind = ofp.OFPMP_PORT_DESC if how == "parsed" else ofp.OFPMP_FLOW
    for _ in range(12):
        say(made, part(made, kind, bytes(9_984)))
    assert made.dead
    assert [kind for kind, _ in heard.log] == ["fault"]
    assert arrived == []
    assert how == "ask" or isinstance(outcome(found), EndlessAnswerError)
    assert made.unread_replies == 0


def test_a_switch_is_not_read_from_while_its_answers_are_not_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channel_module, "MOST_UNREAD", 1 << 17)
    monkeypatch.setattr(channel_module, "LEAST_OF_REPLIES", 1 << 17)
    said: list[bytes] = []
    made, _ = channel(said)
    answer = replies(made, flow_stats(made))
    found: list[bytes] = []
    asker = hub.spawn(lambda: found.append(next(answer)))
    hub.sleep(0)
    said += [part(made, ofp.OFPMP_FLOW, bytes(60_000))] * 40
    serving = hub.spawn(made.serve)
    for _ in range(200):
        hub.sleep(0)
    assert found
    assert len(said) > 30, "no more than 600,000 octets were read"
    hub.spawn(lambda: found.extend(answer))
    for _ in range(1000):
        hub.sleep(0)
    assert said == []
    for thread in (asker, serving):
        hub.kill(thread)


def test_an_answer_that_waits_here_for_its_turn_is_not_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thousand switches that connected at once were asked again and again otherwise."""
    monkeypatch.setattr(requests, "PATIENCE", 0.01)
    is_behind, impatient = Channel.behind, []
    monkeypatch.setattr(
        Channel, "behind", property(lambda it: impatient.append(it) or is_behind.fget(it))
    )
    made, _ = channel([])
    found = asking(bodies, made, flow_stats(made))
    made.turn()
    made.receive(part(made, ofp.OFPMP_FLOW, b"a", more=False))
    wait_for(lambda: len(impatient) > 2, "patience to end, three times", sleep=hub.sleep)
    assert found == []
    say(made)
    assert outcome(found) == [b"a"]


def test_an_answer_that_does_not_come_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "PATIENCE", 0.01)
    made, _ = channel([])
    found = asking(bodies, made, flow_stats(made))
    wait_for(lambda: found, "patience to end", sleep=hub.sleep)
    assert isinstance(outcome(found), RequestError)
