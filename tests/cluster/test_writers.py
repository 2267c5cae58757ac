"""What the log of a switch says of who wrote: lines of Open vSwitch 3.1, as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.writers import Log, by_nobodys_leave

MASTER = """\
2026-11-22T16:17:19.5Z|04396|vconn|DBG|tcp:10.64.0.13:28: received: OFPT_ROLE_REQUEST (OF1.3) \
(xid=0x9b): role=primary generation_id=190
2026-11-22T16:17:19.5Z|04397|vconn|DBG|tcp:10.64.0.13:28: sent (Success): OFPT_ROLE_REPLY (OF1.3) \
(xid=0x9b): role=primary generation_id=190
2026-11-22T16:17:47.6Z|04862|vconn|DBG|tcp:10.64.0.12:24: received: OFPT_ROLE_REQUEST (OF1.3) \
(xid=0x51): role=primary generation_id=206
2026-11-22T16:17:47.6Z|04864|vconn|DBG|tcp:10.64.0.12:24: sent (Success): OFPT_ROLE_REPLY (OF1.3) \
(xid=0x51): role=primary generation_id=206
2026-11-22T16:17:52.6Z|04988|vconn|DBG|tcp:10.64.0.13:28: received: OFPT_FLOW_MOD (OF1.3) \
(xid=0xc8): ADD table:200 priority=1 actions=drop
"""
REFUSED = """\
2026-11-22T16:17:52.6Z|04990|vconn|DBG|tcp:10.64.0.13:28: sent (%s): OFPT_ERROR (OF1.3) \
(xid=0xc8): OFPBRC_IS_SECONDARY
"""


def strangers(path: Path, text: str) -> list[str]:
    path.write_text(text)
    return [write.peer for write in by_nobodys_leave(Log(path).read()[0])]


def test_who_was_master_before_writes_out_of_turn(tmp_path: Path) -> None:
    assert strangers(tmp_path / "log", MASTER) == ["tcp:10.64.0.13:28"]


@pytest.mark.parametrize("result", ["Success", "Connection reset by peer", "Broken pipe"])
def test_what_is_refused_changes_nothing(tmp_path: Path, result: str) -> None:
    """Also when the refusal reaches no member."""
    assert strangers(tmp_path / "log", MASTER + REFUSED % result) == []
