"""Changing the controller's file, and having the controller read it.

The file is replaced by rename, with its owner and its mode, so that the controller reads the old
text or the new one.  A controller that refuses the new text goes on with what it had, and so does
the file; one that is away reads it when it comes.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

from ofapp.deploy.controller_api import call
from ofapp.deploy.lagfile import LagFileError, with_lag, without_lag
from ofapp.deploy.observe import read_text
from ofapp.deploy.state import Lag

RELOAD_SECONDS = 30.0


def put(path: str, lag: Lag, api: str) -> None:
    """Have it there, and the controller read it.  OSError, LagFileError; the file is as it was."""
    before = read_text(path)
    _replace(Path(path), with_lag(before, lag))
    problem = _reload(api)
    if problem is not None:
        _replace(Path(path), before)
        raise LagFileError(f"the controller does not take it: {problem}")


def remove(path: str, lag: Lag, api: str) -> None:
    """Take it out.  OSError, LagFileError.  A controller that is away does not keep it there."""
    _replace(Path(path), without_lag(read_text(path), lag.bridge, lag.name))
    _reload(api)


def _replace(path: Path, text: str) -> None:
    path = path.resolve()  # a link stays one
    draft = path.with_name(f"{path.name}.ofapp-deploy")
    with open(draft, "w", encoding="utf-8", newline="") as file:
        shutil.copystat(path, draft)
        known = path.stat()
        os.chown(draft, known.st_uid, known.st_gid)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)


def _reload(api: str) -> str | None:
    """Why the controller does not run what the file says; None when it does."""
    path = "/v1/config/reload"
    try:
        status, body = call(api, path, RELOAD_SECONDS, "POST")
    except (OSError, ValueError) as error:
        return f"{api}{path}: {error}"
    return None if status == 200 else _detail(body) or f"{api}{path}: status {status}"


def _detail(answer: bytes) -> str | None:
    """What a problem document (RFC 9457) says."""
    with suppress(ValueError, AttributeError):
        return str(json.loads(answer).get("detail") or "") or None
    return None
