"""Roots of Debian suites: their programs and libraries beside those of this machine.

`root("trixie", ["openvswitch-switch"])` is a folder with Debian 13 and that package.  It is made
once, from the mirror and with its signatures checked, and kept in `FOLDER`.  `enter` runs a command
in it: with overlaid files, so that the kept root stays as it is, and with private mounts that
end with the command.  The network is this machine's.

By hand, as root:

    python3 -m tests.support.roots trixie python3 -- python3 --version
    rm -r --one-file-system /var/cache/ofapp-roots/trixie*     # they are made again
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path("/var/cache/ofapp-roots")
MIRROR = "http://deb.debian.org/debian"
SUITES = ("bookworm", "trixie", "sid")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# The mirror may be a copy of some weeks ago, which apt takes for an attack.
_APT = 'Acquire::Check-Valid-Until "false";\nAPT::Install-Recommends "false";\n'
# A package must not start a service, as there is no init.
_NO_SERVICES = "#!/bin/sh\nexit 101\n"

# $1: the root; $2: "" or an overlay; $3: working directory; $4: how many folders to bind.
_ENTER = r"""
set -e
root=$1 overlay=$2 cwd=$3 count=$4
shift 4
if [ "$overlay" ]; then
    mount -t tmpfs ofapp-root /mnt
    mkdir /mnt/upper /mnt/work /mnt/root
    mount -t overlay -o "lowerdir=$root,upperdir=/mnt/upper,workdir=/mnt/work" overlay /mnt/root
    root=/mnt/root
    for file in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
        mkdir -p "$root${file%/*}"
        cat "$file" >"$root$file"
    done
fi
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=755 ofapp-run "$root/run"
mkdir -m 1777 "$root/run/lock"
while [ "$count" -gt 0 ]; do
    mkdir -p "$root$1"
    mount --rbind "$1" "$root$1"
    shift
    count=$((count - 1))
done
exec chroot "$root" env --chdir "$cwd" "$@"
"""


def missing() -> str | None:
    """Why no root can be made here."""
    if os.geteuid():
        return "needs root"
    return None if shutil.which("debootstrap") else "not installed: debootstrap"


def root(suite: str, packages: Iterable[str] = ()) -> Path:
    """A folder with that suite and these packages; made when there is none yet."""
    assert suite in SUITES, suite
    wanted = sorted(set(packages))
    digest = hashlib.sha256(" ".join(wanted).encode()).hexdigest()[:12]
    final = FOLDER / (f"{suite}-{digest}" if wanted else suite)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with locked(final.with_name(f"{final.name}.lock")):
        if not final.exists():
            partial = final.with_name(f"{final.name}.partial")
            if partial.exists():
                shutil.rmtree(partial)
            if wanted:
                _install(root(suite), partial, wanted)
            else:
                _bootstrap(suite, partial)
            partial.rename(final)
    return final


def inside(
    folder: Path,
    *command: object,
    bind: Sequence[Path] = (),
    cwd: Path | str = "/",
    overlay: bool = True,
) -> list[str]:
    """The command that runs `command` in a root.

    bind: folders of this machine that are there under the same names; overlay: what it writes
    elsewhere is gone when it ends, else it stays in the root.
    """
    return [
        *("unshare", "--mount", "--propagation", "private", "sh", "-c", _ENTER, "enter"),
        *map(str, (folder, "overlay" if overlay else "", cwd, len(bind), *bind, *command)),
    ]


def enter(
    folder: Path,
    *command: object,
    bind: Sequence[Path] = (),
    cwd: Path | str = "/",
    environment: dict[str, str] | None = None,
    check: bool = True,
    seconds: float = 600,
) -> subprocess.CompletedProcess[str]:
    """Run a command in a root; see `inside`.  AssertionError with its output when it fails."""
    return _run(inside(folder, *command, bind=bind, cwd=cwd), environment, check, seconds)


def _bootstrap(suite: str, folder: Path) -> None:
    _run(
        [
            *("unshare", "--mount", "--propagation", "private"),
            *("debootstrap", "--variant=minbase", f"--keyring={KEYRING}"),
            *(suite, str(folder), MIRROR),
        ]
    )
    (folder / "etc/apt/apt.conf.d/99ofapp").write_text(_APT)
    policy = folder / "usr/sbin/policy-rc.d"
    policy.write_text(_NO_SERVICES)
    policy.chmod(0o755)


def _install(base: Path, folder: Path, packages: list[str]) -> None:
    _run(["cp", "--archive", "--reflink=auto", str(base), str(folder)])
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", *packages],
        ["apt-get", "clean"],
    ):
        _run(inside(folder, *command, overlay=False))


def _run(
    command: list[str],
    environment: dict[str, str] | None = None,
    check: bool = True,
    seconds: float = 1800,
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command,
        env=_environment() | (environment or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
        check=False,
    )
    end = done.stdout[-3000:]
    assert done.returncode == 0 or not check, f"{command[-1]}: status {done.returncode}\n{end}"
    return done


def _environment() -> dict[str, str]:
    """What a command in a root is started with: of this machine's, what the network needs."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    return kept | {
        "PATH": PATH,
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "DEBIAN_FRONTEND": "noninteractive",
    }


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until no other process makes the same root."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Make a root and print where it is, or run a command in it."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.support.roots")
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("package", nargs="*")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    command = sys.argv[at + 1 :]
    chosen = parser.parse_args(sys.argv[1:at])
    if reason := missing():
        parser.error(reason)
    folder = root(chosen.suite, chosen.package)
    if not command:
        print(folder)
        return
    os.execvpe("unshare", inside(folder, *command), _environment())


if __name__ == "__main__":
    main()
