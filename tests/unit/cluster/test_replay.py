"""What a member signs counts for one process."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ofapp.controller.cluster.peers.members import Members
from ofapp.controller.cluster.peers.signing import (
    Asked,
    Caller,
    ForgedError,
    Verifier,
    new_secret,
    sign,
)
from tests.support.etcd import FakeEtcd

NOW = 1_800_000_000.0


def test_a_statement_for_an_earlier_process_is_refused_by_the_next() -> None:
    etcd = FakeEtcd()
    asking = Members(etcd.client(), "/ofapp/lab/", "m1", lambda _, event: None)
    asking.start()
    secret, caller = new_secret(), Caller("root", "admin", "here")
    headers = []
    for _ in range(2):
        client = etcd.client()
        asked = Members(client, "/ofapp/lab/", "m2", lambda _, event: None, "one place")
        asked.register(client.grant(5).number, "1.0")
        known = asking.get("m2")
        assert known is not None
        assert known.incarnation == asked.incarnation
        about = Asked("m2", "GET", "/v1/bridges", b"", known.incarnation)
        headers.append(sign(secret, "m1", caller, about, NOW))
        expected = replace(about, incarnation=asked.incarnation)
        assert Verifier().verify(secret, headers[-1], expected, NOW) == ("m1", caller)
        for earlier in headers[:-1]:
            with pytest.raises(ForgedError, match="not for this process"):
                Verifier().verify(secret, earlier, expected, NOW)
