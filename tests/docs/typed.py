"""Type the commands of a page, in a separate bed.

A bed is a set of namespaces (mounts, network, processes) with an Open vSwitch; `bin/bed` makes what
is in it, and all of it ends with its first process.  All blocks of a page are typed in one shell,
which ends at the first command that fails.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from ofapp.docs import site
from ofapp.docs.fences import Fence, parse_fence
from ofapp.docs.markdown import Page

README = "README.md"
ROOT = Path(__file__).parents[2]
BIN = Path(__file__).with_name("bin")
SECONDS = 300
"""Until a page is given up; on a quiet machine one takes about ten seconds."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page, at a line of its file."""

    fence: Fence
    text: str
    line: int

    @property
    def typed(self) -> bool:
        return self.fence.language == "sh" and not self.fence.skip


def names() -> list[str]:
    """What is typed: README and the pages, in their order."""
    return [README, *site.in_order()]


def page_of(name: str) -> tuple[str, Page]:
    """The Markdown of a page, or of README, and the page."""
    if name == README:
        text = (ROOT / README).read_text("utf-8")
        return text, Page(text)
    return site.text(name), site.page(name)


def bed_of(name: str) -> str:
    """The bed that a page names."""
    found = re.search(r"<!-- bed: (\S+) -->", page_of(name)[0])
    return found[1] if found else "none"


def blocks_of(name: str) -> list[Block]:
    """The fenced blocks of a page."""
    fences = page_of(name)[1].fences
    return [Block(parse_fence(info), text, line) for info, text, line in fences]


def type_page(name: str, scratch: Path) -> list[str]:
    """Type a page's commands; returns what went wrong, in words."""
    blocks = blocks_of(name)
    (scratch / "script").write_text("\n".join(_script(blocks, scratch)) + "\n")
    path = f"{BIN}:{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin"
    home = {"HOME": str(scratch), "TERM": "dumb", "COLUMNS": "100", "LC_ALL": "C.UTF-8"}
    environment = {"PATH": path, "OFAPP_BED": bed_of(name), **home}
    bed = subprocess.Popen(
        [
            *("setpriv", "--pdeathsig", "KILL"),
            *("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"),
            *("bash", str(scratch / "script")),
        ],
        env=environment,
        cwd=scratch,
        stdin=subprocess.DEVNULL,
        stdout=open(scratch / "bed.out", "wb"),  # noqa: SIM115
        stderr=subprocess.STDOUT,
    )
    try:
        bed.wait(SECONDS)
    except subprocess.TimeoutExpired:
        bed.kill()
        bed.wait()
    return _faults(name, blocks, scratch)


def _script(blocks: list[Block], scratch: Path) -> list[str]:
    """The shell script of a page: first the bed, then each block with a file for its output."""
    on_error = "trap 'echo \"$BASH_COMMAND: exit status $?\" >fault' ERR"
    lines = ["set -eE", on_error, 'bed "$OFAPP_BED"']
    for number, block in enumerate(blocks):
        if block.fence.file:
            (scratch / f"file{number}").write_text(block.text)
            target = shlex.quote(block.fence.file)
            lines.append(f"install -D -m 644 {scratch}/file{number} {target}")
        elif block.typed:
            lines.append(f"exec >{scratch}/out{number} 2>&1")
            if block.fence.fails:
                lines += ["trap - ERR", "set +e", f"(set -e\n{block.text})", "failed=$?"]
                lines += ["set -e", on_error]
                lines += ['((failed)) || { echo "all commands succeeded" >fault; exit 1; }']
            else:
                lines.append(block.text)
            lines.append(f"touch {scratch}/done{number}")
    return lines


def _faults(name: str, blocks: list[Block], scratch: Path) -> list[str]:
    before = None
    for number, block in enumerate(blocks):
        where = f"{name}:{block.line}"
        if block.typed:
            before = number
            if not (scratch / f"done{number}").exists():
                return [f"{where}: {_ended(scratch)}\n{_output(scratch, number)}"]
        elif block.fence.language == "output" and before is not None and blocks[before].typed:
            differing = differences(block.text, _output(scratch, before))
            if differing:
                return [
                    f"{where}: the output is another one (- the page, + what was printed)"
                    f"\n{differing}"
                ]
        elif block.fence.language == "sh":
            before = number
    return []


def _ended(scratch: Path) -> str:
    fault = scratch / "fault"
    if fault.exists():
        return fault.read_text().strip()
    return f"not done after {SECONDS} s, or the shell ended"


def _output(scratch: Path, number: int) -> str:
    path = scratch / f"out{number}"
    return path.read_text(errors="replace") if path.exists() else (scratch / "bed.out").read_text()


def differences(expected: str, printed: str) -> str:
    """Compare an output with the page's, line by line; returns the differing lines, or nothing.

    `...` in a line stands for any text, and a line `...` for any lines.
    """
    wanted = [line.rstrip() for line in expected.rstrip().splitlines()]
    there = [line.rstrip() for line in printed.rstrip().splitlines()]
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else _pattern(line) + r"\n" for line in wanted
    )
    if re.fullmatch(pattern, "".join(f"{line}\n" for line in there)):
        return ""
    fitting = [next((want for want in wanted if _fits(want, got)), got) for got in there]
    shown = []
    for tag, at, to, start, end in SequenceMatcher(None, wanted, fitting).get_opcodes():
        if tag == "equal":
            shown += [f"  {got}" for got in there[start:end]]
        else:
            shown += [f"- {want}" for want in wanted[at:to]]
            shown += [f"+ {got}" for got in there[start:end]]
    return "\n".join(shown)


def _fits(want: str, got: str) -> bool:
    return want.strip() != "..." and re.fullmatch(_pattern(want), got) is not None


def _pattern(line: str) -> str:
    """What fits a line; columns may be wider or narrower than in the page."""
    parts = (re.escape(part) for part in line.split("..."))
    return re.sub(r"(\\ )+", " +", ".*".join(parts))
