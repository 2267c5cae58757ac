"""The UNIX socket: for the command line on the same machine; the kernel reports the peer's user.

All users may connect, and have the rights of their user and groups.  So a group can be trusted that
the service is no member of, and the audit trail has the user's id.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import struct
from pathlib import Path
from typing import Any

from ofapp.common import hub
from ofapp.common.api_address import API_SOCKET
from ofapp.controller.access import User

DEFAULT = Path(API_SOCKET)
NAME = DEFAULT.name

_CREDENTIALS = struct.Struct("iII")  # struct ucred: process, user, group
_PEER_GROUPS = 59  # SO_PEERGROUPS of linux/socket.h; Python has no name for it
_GROUPS = 1024  # octets, the most that Python takes: 256 groups
_LONGEST = 107  # octets of a path, struct sockaddr_un


def listen(path: Path) -> Any:
    """Open a listening socket; OSError, also if another process listens there already."""
    if len(os.fsencode(path)) > _LONGEST:
        raise OSError(errno.ENAMETOOLONG, f"the path has more than {_LONGEST} octets")
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(path)
    made = hub.listen(str(path), socket.AF_UNIX)
    path.chmod(0o666)
    return made


def remove(path: Path) -> None:
    """Remove the socket of the closed listener, unless another process listens there by now."""
    with contextlib.suppress(OSError):
        _remove_stale(path)


def user(client: Any) -> User:
    """User and groups of the peer.  Raises OSError."""
    credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _process, uid, gid = _CREDENTIALS.unpack(credentials)
    groups = b""
    with contextlib.suppress(OSError):  # with more groups only the primary one is known
        groups = client.getsockopt(socket.SOL_SOCKET, _PEER_GROUPS, _GROUPS)
    return User(uid, frozenset({gid, *(one for (one,) in struct.iter_unpack("I", groups))}))


def _remove_stale(path: Path) -> None:
    """Remove a socket that a killed process has left."""
    try:
        info = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(info.st_mode):
        raise OSError(errno.EEXIST, "there is already a file that is no socket")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise OSError(errno.EADDRINUSE, "another process listens there")
