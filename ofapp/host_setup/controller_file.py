"""The drop-in with the uplinks' aggregation beside the controller's file, and the reload.

Files are replaced by rename, so that the controller reads the old text or the new one.  Where the
controller refuses the new configuration, the files are put back; one that is away reads them when
it starts.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

from ofapp.common.files import read_regular
from ofapp.host_setup.controller_api import call
from ofapp.host_setup.lagfile import LagFileError, drop_in, is_ours, lags_in, without_lag
from ofapp.host_setup.state import FileLag, Lag

MAX_BYTES = 4 << 20
RELOAD_SECONDS = 30.0


def read_lags(file: str) -> tuple[FileLag, ...]:
    """The aggregations in the file and its drop-ins.  OSError, UnicodeDecodeError, LagFileError."""
    directory = _directory(Path(file))
    names = os.listdir(directory) if directory.is_dir() else []
    read = sorted(name for name in names if name.endswith(".yaml") and not name.startswith("."))
    return lags_in(map(_text, (Path(file), *(directory / name for name in read))))


def put(file: str, lag: Lag, api: str) -> None:
    """Write the drop-in, and have the controller read it.

    Raises OSError or LagFileError; then the files are as they were.
    """
    path, base = _drop_in(file, lag), Path(file)
    before = _text(path) if path.exists() else None
    if before is not None and not is_ours(before):
        raise LagFileError(f"{path} is there already, and `ofapp deploy` did not write it")
    whole = _text(base)
    _make_directory(path.parent, base.parent)
    _replace(path, drop_in(lag), base)
    _replace(base, without_lag(whole, lag.bridge, lag.name), base)
    problem = _reload(api)
    if problem is not None:
        _restore(path, before, base)
        _replace(base, whole, base)
        raise LagFileError(f"the controller does not take it: {problem}")


def remove(file: str, lag: Lag, api: str) -> None:
    """Remove the drop-in, or the lines that an earlier version put into the file.

    Raises OSError or LagFileError.  A controller that is away does not keep it there.
    """
    path, base = _drop_in(file, lag), Path(file)
    if path.exists() and is_ours(_text(path)):
        path.unlink()
    _replace(base, without_lag(_text(base), lag.bridge, lag.name), base)
    _reload(api)


def _directory(file: Path) -> Path:
    return file.with_name(f"{file.name}.d")


def _drop_in(file: str, lag: Lag) -> Path:
    return _directory(Path(file)) / f"{lag.bridge}.yaml"


def _text(path: Path) -> str:
    return read_regular(path, MAX_BYTES).decode()


def _make_directory(path: Path, like: Path) -> None:
    """Make it with the owner and mode of `like`: under umask 077 the controller cannot read it."""
    if path.exists():
        return
    path.mkdir()
    shutil.copymode(like, path)
    known = like.stat()
    os.chown(path, known.st_uid, known.st_gid)


def _restore(path: Path, text: str | None, like: Path) -> None:
    if text is None:
        path.unlink()
    else:
        _replace(path, text, like)


def _replace(path: Path, text: str, like: Path) -> None:
    """Write the text, with the owner and the mode of the file `like`."""
    path = path.resolve()  # a link stays one
    if path.exists() and _text(path) == text:
        return
    draft = path.with_name(f"{path.name}.ofapp-deploy")
    with open(draft, "w", encoding="utf-8", newline="") as file:
        shutil.copymode(like, draft)
        known = like.stat()
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
    """Return the detail of a problem document (RFC 9457)."""
    with suppress(ValueError, AttributeError):
        return str(json.loads(answer).get("detail") or "") or None
    return None
