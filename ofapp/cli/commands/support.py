"""ofapp support: what a report of a fault needs, in one file."""

from __future__ import annotations

import io
import re
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ofapp.cli.client import CONNECT, ApiError, Client, Json
from ofapp.cli.output import say

LEFT_OUT = {"/v1/tokens", "/v1/session", "/v1/events/stream", "/v1/vendors"}
"""Routes without use for a report: names of credentials, a stream that does not end, a list."""

KINDS = {"application/json": "json", "application/gzip": "jsonl.gz", "text/plain": "txt"}
"""Ends of file names, by the type of an answer."""


def support(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The archive: tar, gzip.")],
    client: Client = CONNECT,
) -> None:
    """Save what a report of a fault needs: state, settings, events, problems and the recording.

    The archive has a file for each answer of the API, and the recording of a controller that runs
    with --record. It has names, addresses and recorded frames of hosts, but no keys, tokens or
    passwords. Of long lists, such as the FDB, it has the first page.
    """
    answers = refused = 0
    try:
        file.touch(0o600)
        with tarfile.open(file, "w:gz") as archive:
            for path, end in _paths(client):
                try:
                    content = client.binary(path)
                except ApiError as error:
                    content, end = f"{error}\n".encode(), "refused"
                answers, refused = answers + (end != "refused"), refused + (end == "refused")
                entry = tarfile.TarInfo(f"{path.strip('/')}.{end}")
                entry.size, entry.mtime, entry.mode = len(content), int(time.time()), 0o600
                archive.addfile(entry, io.BytesIO(content))
    except OSError as error:
        raise ApiError(f"cannot write {file}: {error.strerror}") from None
    without = f", {refused} refused" if refused else ""
    say(f"{file}: {answers} answers{without}, {file.stat().st_size} octets")


def _paths(client: Client) -> Iterator[tuple[str, str]]:
    """The routes to ask, and the ends of their file names: those that need a bridge at most."""
    bridges = [bridge["datapath_id"] for bridge in client.bridges()]
    for route, operations in client.get("/openapi.json")["paths"].items():
        asks: Json | None = operations.get("get")
        if asks is None or route in LEFT_OUT or not route.startswith(("/v1/", "/metrics")):
            continue
        needed = {p["name"] for p in asks.get("parameters", ()) if p.get("required")}
        if needed - {"dpid"}:
            continue
        (end, *_) = (KINDS[kind] for kind in asks["responses"]["200"]["content"] if kind in KINDS)
        paths = [re.sub("{dpid}", each, route) for each in bridges] if needed else [route]
        yield from ((path, end) for path in paths)
