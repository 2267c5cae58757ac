"""A machine with Open vSwitch's kernel datapath: user-mode Linux, an ordinary process.

Machines like ours have no openvswitch module, and no KVM to boot a kernel that has one.  Debian's
user-mode-linux ships it, and starts in two seconds on the host's own files: the same Open vSwitch
and the same virtual environment run inside, on one CPU.  What runs inside leaves its results in a
folder of the host.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def run_inside(command: str, results: Path, seconds: float) -> None:
    """Boot, run a shell command there from the repository's folder, power off.

    `results` is /results inside; the command's output is its file `output`, and its exit status
    `status`.  AssertionError with the end of both logs when the machine does not get that far.
    """
    with tempfile.TemporaryDirectory(prefix="ofapp-uml-") as folder:
        console = Path(folder, "console")
        (results / "command").write_text(command)
        with console.open("wb") as log:
            machine = subprocess.Popen(
                [*_alone(), "linux.uml", *_options(folder), f"RESULTS={results}"],
                env=os.environ | {"LD_PRELOAD": str(_fpregs(folder)), "TMPDIR": folder},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            machine.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:
            machine.kill()
            machine.wait()
        if (results / "status").exists():
            return
        said = [path for path in (console, results / "output") if path.exists()]
        tails = "\n".join(path.read_text(errors="replace")[-3000:] for path in said)
        raise AssertionError(f"user-mode Linux was not done after {seconds:g} s:\n{tails}")


def _alone() -> list[str]:
    """On one CPU, since what it measures is bimodal otherwise; all its processes end with it."""
    cpu = max(os.sched_getaffinity(0))
    return [
        *("setpriv", "--pdeathsig", "KILL", "taskset", "-c", str(cpu)),
        *("unshare", "--pid", "--mount-proc", "--fork", "--kill-child"),
    ]


def _options(folder: str) -> list[str]:
    return [
        *("mem=1G", "umid=ofapp", f"uml_dir={folder}", "rootfstype=hostfs", "rootflags=/"),
        *("ro", "quiet", "con=null", "con0=null,fd:1"),
        f"init={HERE / 'uml-init'}",
    ]


def _fpregs(folder: str) -> Path:
    """The library that makes it run on new CPUs; see its source."""
    library = Path(folder, "fpregs.so")
    subprocess.run(
        ["gcc", "-O2", "-shared", "-fPIC", "-o", library, HERE / "fpregs.c", "-ldl"], check=True
    )
    return library
