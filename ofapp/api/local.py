"""The UNIX socket: for the command line on the same machine, where the kernel tells who asks.

Everybody may connect, and what they may do goes by their user and groups.  So a group can be
trusted that the service is no member of, and an audit trail has whoever it was.
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
from ofapp.common.places import API_SOCKET
from ofapp.controller.access import User

DEFAULT = Path(API_SOCKET)
NAME = DEFAULT.name

_CREDENTIALS = struct.Struct("iII")  # struct ucred: process, user, group
_PEER_GROUPS = 59  # SO_PEERGROUPS of linux/socket.h; Python has no name for it
_GROUPS = 1024  # octets, the most that Python takes: 256 groups
_LONGEST = 107  # octets of a path, struct sockaddr_un


def listen(path: Path) -> Any:
    """A socket that listens there; OSError, also when somebody listens there already."""
    if len(os.fsencode(path)) > _LONGEST:
        raise OSError(errno.ENAMETOOLONG, f"the path has more than {_LONGEST} octets")
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(path)
    made = hub.listen(str(path), socket.AF_UNIX)
    path.chmod(0o666)
    return made


def remove(path: Path) -> None:
    """The listener is closed; whoever listens there by now keeps it."""
    with contextlib.suppress(OSError):
        _remove_stale(path)


def user(client: Any) -> User:
    """Who has connected; OSError."""
    credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _process, uid, gid = _CREDENTIALS.unpack(credentials)
    groups = b""
    with contextlib.suppress(OSError):  # of who is in more groups only the first is known
        groups = client.getsockopt(socket.SOL_SOCKET, _PEER_GROUPS, _GROUPS)
    return User(uid, frozenset({gid, *(one for (one,) in struct.iter_unpack("I", groups))}))


def _remove_stale(path: Path) -> None:
    """What a process that was killed has left there."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise OSError(errno.EEXIST, "something that is no socket is there already")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise OSError(errno.EADDRINUSE, "another process listens there")
