"""Builds pump.c with gcc the first time it is needed and binds it through ctypes.

Python alone reads about 300,000 messages a second at best, and a controller under test may answer
each packet-in with two flow-mods: too near to the thing to be measured.  The library is kept in a
cache directory under a name made from the source, so that editing pump.c rebuilds it.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

DONE, DEADLINE, OTHER, CLOSED, STALLED = range(5)
"""What pump_run returns: all hosts answered; time is up; a message for Python; gone; silence."""

_SOURCE = Path(__file__).with_name("pump.c")
_u32, _u64, _i64, _ptr = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64, ctypes.c_void_p


class Pump(ctypes.Structure):
    """struct pump of pump.c, field for field."""

    _fields_ = [
        ("templates", _ptr),
        *((name, _u32) for name in ("n_ports", "template_len", "src_at", "dst_at")),
        *((name, _u32) for name in ("first_host", "n_hosts", "window", "tracked", "expect")),
        *((name, _u32) for name in ("wait_complete", "spin", "unicast")),
        ("interval_ns", _i64),
        ("stall_ns", _i64),
        *((name, _u32) for name in ("sent", "learned", "complete", "pad0")),
        ("started_ns", _i64),
        *((name, _ptr) for name in ("sent_ns", "first_ns", "last_ns", "mods")),
        *((name, _u64) for name in ("flow_mods", "packet_outs", "messages")),
        ("echo_every_ns", _i64),
        ("echo_next_ns", _i64),
        ("echo_sent_ns", _ptr),
        ("echo_rtt_ns", _ptr),
        ("echoes", _u32),
        ("echo_cap", _u32),
        ("log", _ptr),
        ("log_len", _u64),
        ("log_cap", _u64),
        ("other", _ptr),
        ("other_len", _u32),
        ("fd", ctypes.c_int32),
        ("rx", _ptr),
        ("tx", _ptr),
        *((name, _u64) for name in ("rx_from", "rx_to", "tx_from", "tx_to", "tx_cap")),
    ]


def _build() -> Path:
    digest = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:16]
    cache = Path(tempfile.gettempdir()) / f"ofapp-bench-{os.getuid()}"
    cache.mkdir(mode=0o700, exist_ok=True)
    library = cache / f"pump-{digest}.so"
    if not library.exists():
        scratch = cache / f"pump-{os.getpid()}.so"
        command = ["gcc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC"]
        subprocess.run([*command, "-o", str(scratch), str(_SOURCE)], check=True)
        scratch.rename(library)
    return library


def load() -> ctypes.CDLL:
    """The library; needs gcc on the first call."""
    library = ctypes.CDLL(str(_build()))
    library.pump_init.argtypes = [ctypes.POINTER(Pump), ctypes.c_int]
    library.pump_init.restype = None
    library.pump_free.argtypes = [ctypes.POINTER(Pump)]
    library.pump_free.restype = None
    library.pump_queue.argtypes = [ctypes.POINTER(Pump), ctypes.c_char_p, ctypes.c_size_t]
    library.pump_queue.restype = None
    library.pump_run.argtypes = [ctypes.POINTER(Pump), ctypes.c_int64]
    library.null_serve.argtypes = [ctypes.c_int, ctypes.c_char_p, _u32, ctypes.POINTER(_u32), _u32]
    return library
