"""Programs that start at once: forks of a process that has imported the application.

Importing takes 1.4 s of a CPU, and the tests start hundreds.  What forks are is not changed by it:
they read their command line, their files and their sockets as any.  That `ofapp-manager` starts as
users start it is seen by the tests that run it:
tests/unit/launcher/test_manager.py, and those of packages.
"""

from __future__ import annotations

# Others keep references to the clock: it comes first.
import tests.support.fast_clock  # noqa: F401

# isort: split
# The hub comes before all else, as in `ofapp-manager`.  Nothing here may wait by it: a fork
# must not inherit one that runs, so `posix` and `_socket` are used, which are never patched.
import ofapp.common.hub  # noqa: F401

# isort: split
import _socket
import array
import ctypes
import gc
import importlib
import json
import os
import posix
import socket
import sys

_FDS = 4  # standard input, output, error; network namespace


def main(fd: int) -> None:
    """Answer each request with a process id, until the other end is closed."""
    import os_ken.controller.ofp_handler  # noqa: F401

    import ofapp.app  # noqa: F401

    gc.collect()
    gc.freeze()
    requests = _socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fd)
    requests.setblocking(True)  # a socket that a patched process has made does not block
    while True:
        size = _socket.CMSG_SPACE(_FDS * array.array("i").itemsize)
        data, extra, _, _ = requests.recvmsg(1 << 20, size)
        if not data:
            posix._exit(0)
        fds = array.array("i", [one for _, _, each in extra for one in array.array("i", each)])
        request = json.loads(data)
        program = importlib.import_module(request["arguments"][0])
        # The fork's parent ends at once.  Then, and not before, the fork is a child of the process
        # that started this one.
        reading, writing = posix.pipe()
        if between := os.fork():
            for one in (*fds, writing):
                posix.close(one)
            posix.waitpid(between, 0)
            requests.send(posix.read(reading, 64))
            posix.close(reading)
            continue
        posix.close(reading)
        between = os.getpid()
        if forked := os.fork():
            posix.write(writing, str(forked).encode())
            posix._exit(0)
        posix.close(writing)
        requests.close()
        _become(request, fds)
        while os.getppid() == between:
            posix.sched_yield()
        sys.exit(program.main(sys.argv[1:]))


def _become(request: dict[str, object], fds: array.array[int]) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(fds[3], 0):
        raise OSError(ctypes.get_errno(), "setns")
    for number in range(3):
        posix.dup2(fds[number], number)
    for one in fds:
        posix.close(one)
    os.chdir(str(request["cwd"]))
    environment = request["environment"]
    assert isinstance(environment, dict)
    os.environ.clear()
    os.environ.update(environment)
    arguments = request["arguments"]
    assert isinstance(arguments, list)
    sys.argv = arguments


if __name__ == "__main__":
    main(int(sys.argv[1]))
