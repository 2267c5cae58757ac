"""Requests on the wire: what is read, in pieces of any size, and what is refused."""

from __future__ import annotations

import contextlib
import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.api.http.request_reader import (
    MAX_BODY,
    MAX_FIELD,
    MAX_HEAD,
    MAX_TARGET,
    HttpRequest,
    RefusedError,
    RequestReader,
)

GET = b"GET /v1/bridges?x=1 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nAccept: */*\r\n\r\n"
PUT = b"PUT /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNKED = (
    b"POST /b HTTP/1.1\r\nHost: [::1]:80\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\nA;name=value\r\n, my world\r\n0\r\nTrailer: x\r\n\r\n"
)


def read(data: bytes) -> list[HttpRequest]:
    """All requests in there; RefusedError."""
    reader = RequestReader()
    reader.feed(data)
    return rest(reader)


def rest(reader: RequestReader) -> list[HttpRequest]:
    found = []
    while (request := reader.next()) is not None:
        found.append(request)
    return found


def status(data: bytes) -> int:
    """What a request is refused with."""
    with pytest.raises(RefusedError) as refused:
        read(data)
    assert refused.value.detail
    return refused.value.status


def test_requests_are_read() -> None:
    get, put, chunked = read(GET + PUT + CHUNKED)
    assert (get.method, get.target, get.version) == ("GET", "/v1/bridges?x=1", "1.1")
    assert get.fields == (("Host", "127.0.0.1:8080"), ("Accept", "*/*"))
    assert (get.body, put.body, chunked.body) == (b"", b"hello", b"hello, my world")
    assert chunked.values("trailer") == []
    assert get.keep_alive


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (b"http://A:80/v1/bridges?x=1", "/v1/bridges?x=1"),
        (b"HTTPS://a:80", "/"),
        (b"http://a:80?x", "/?x"),
        (b"http://a:80//b", "//b"),
    ],
)
def test_a_uri_of_this_server_is_its_path(target: bytes, expected: str) -> None:
    """RFC 9112, 3.2.2."""
    (request,) = read(b"GET %s HTTP/1.1\r\nHost: a:80\r\n\r\n" % target)
    assert request.target == expected


@given(st.lists(st.integers(0, len(GET + CHUNKED + PUT)), max_size=20))
def test_they_are_read_in_pieces_of_any_size(cuts: list[int]) -> None:
    data = GET + CHUNKED + PUT
    reader, found = RequestReader(), []
    for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(data)], strict=True):
        reader.feed(data[begin:end])
        found += rest(reader)
    assert found == read(data)
    assert not reader.begun


@given(st.binary(max_size=300))
def test_anything_is_read_or_refused(data: bytes) -> None:
    for before in (b"", GET, POST):
        with contextlib.suppress(RefusedError):
            assert all(request.target for request in read(before + data))


def post(size: bytes) -> bytes:
    return POST + size + b"hello\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    "data",
    [
        *map(post, (b"0x5\r\n", b"+5\r\n", b"-5\r\n", b"0_5\r\n", b" 5\r\n", b"5 \r\n", b"5\n")),
        post(b"f" * 17 + b"\r\n"),
        b"GET / HTTP/1.1\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\nB: c\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nB: c\rd\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nB: c\r\n d\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nB:\r\n d\r\n\r\n",
        b"GET / HTTP/1.1\r\n d: e\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost:\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nB: \0\r\n\r\n",
        b"GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n",
        b"GET http://b@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET http://a/ HTTP/1.0\r\n\r\n",
        b"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET * HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /#b HTTP/1.1\r\nHost: a\r\n\r\n",
        b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
        b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
    ],
)  # fmt: skip
def test_what_is_not_strictly_http_is_refused(data: bytes) -> None:
    assert status(data) == 400


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"GET /x\nHost: a\r\n\r\n", 505),
        (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        (b"GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505),
        (b"GET /%s" % (b"x" * MAX_TARGET), 414),
        (b"GET / HTTP/1.1\r\nHost: a\r\nB: %s\r\n\r\n" % (b"x" * MAX_FIELD), 431),
        (b"GET / HTTP/1.1\r\nHost: a\r\nB: %s" % (b"x" * MAX_HEAD), 431),
        (b"GET / HTTP/1.1\r\n%s" % (b"B: c\r\n" * (MAX_HEAD // 6)), 431),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY + 1), 413),
        (POST + b"%x\r\n%s" % (MAX_BODY + 1, b"x" * (MAX_BODY + 1)), 413),
        (POST + b"5;%s" % (b"x" * 10 * MAX_BODY), 413),
        (POST + b"0\r\nTrailer: %s" % (b"x" * 10 * MAX_BODY), 413),
        (b"POST / HTTP/1.1\r\nHost: a\r\nExpect: more\r\nContent-Length: 1\r\n\r\n", 417),
    ],
)
def test_limits(data: bytes, expected: int) -> None:
    assert status(data) == expected


def test_a_request_before_one_that_is_refused_is_read() -> None:
    reader = RequestReader()
    reader.feed(GET + b"GET / HTTP/1.1\r\n\r\n" + GET)
    assert reader.next() is not None
    with pytest.raises(RefusedError):
        reader.next()


def test_nothing_after_the_last_request_is_read() -> None:
    (only,) = read(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" + GET + b"bad")
    assert not only.keep_alive
    (old,) = read(b"GET / HTTP/1.0\r\n\r\n")
    assert not old.keep_alive


def test_an_upgrade_is_not_made() -> None:
    upgrade = GET.replace(b"Accept: */*", b"Connection: Upgrade\r\nUpgrade: h2c")
    assert [request.target for request in read(upgrade + PUT)] == ["/v1/bridges?x=1", "/a"]


def test_the_client_is_asked_for_the_body_once() -> None:
    reader = RequestReader()
    reader.feed(PUT.replace(b"\r\n\r\nhello", b"\r\nExpect: 100-continue\r\n\r\n"))
    assert reader.asks_to_continue()
    assert not reader.asks_to_continue()
    reader.feed(b"hello")
    assert [request.body for request in rest(reader)] == [b"hello"]
    reader.feed(GET.replace(b"Accept: */*", b"Expect: 100-continue"))
    assert not reader.asks_to_continue(), "there is no body"


def test_a_reader_that_is_closed_is_freed_at_once() -> None:
    gc.collect()
    reader = RequestReader()
    reader.feed(GET + PUT[:-1])
    reader.close()
    del reader
    assert gc.collect() == 0
