"""ofapp import: the configuration of another bridge as a file of ofapp."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ofapp.cli.output import say

if TYPE_CHECKING:
    from ofapp.migrate.draft import Draft

app = typer.Typer(no_args_is_help=True)

Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the file there; it must not exist. Default: print it.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")]
Everything = Annotated[
    bool, typer.Option("--all", help="Also list the settings that need no equivalent, and why.")
]
Bridges = Annotated[
    list[str] | None,
    typer.Option(
        "--bridge", metavar="BRIDGE", help="Only this bridge; may be given several times."
    ),
]
Saved = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="DIR",
        help="Read what was saved in this directory (see the guide) and not the running system.",
    ),
]


@contextmanager
def _imported(source: str, output: Path | None, force: bool, everything: bool) -> Iterator[Draft]:
    """Write what the block puts into the draft; an input that cannot be read ends the command."""
    from ofapp.migrate.draft import Draft
    from ofapp.migrate.setting import ImportFault

    draft = Draft()
    try:
        yield draft
        _write(draft, source, output, force, everything)
    except ImportFault as fault:
        say(f"ofapp: {fault}", err=True)
        raise typer.Exit(1) from None


def _write(draft: Draft, source: str, output: Path | None, force: bool, everything: bool) -> None:
    """Print or store the file, and report what it does not have."""
    from ofapp.migrate.setting import ImportFault
    from ofapp.migrate.written import report, text

    written = text(draft, source)
    if output is None:
        typer.echo(written, nl=False)
    else:
        try:
            with output.open("w" if force else "x") as file:
                file.write(written)
        except FileExistsError:
            raise ImportFault(f"{output} exists: give another name, or --force") from None
        except OSError as error:
            raise ImportFault(f"{output}: {error.strerror}; give another name") from None
    on_terminal = output is None and sys.stdout.isatty()  # the file's comments say the same
    for line in report(draft, everything) if everything or not on_terminal else ():
        say(line, err=True)


@app.command()
def linux(
    bridge: Bridges = None,
    saved: Saved = None,
    output: Output = None,
    force: Force = False,
    everything: Everything = False,
) -> None:
    """Import bridges of the Linux kernel, from the running system or from saved JSON."""
    from ofapp.migrate.linux import linux_bridges, read_linux

    with _imported("the Linux bridge", output, force, everything) as draft:
        linux_bridges(draft, read_linux(saved), bridge or ())


@app.command()
def ovs(
    bridge: Bridges = None,
    saved: Saved = None,
    database: Annotated[
        str | None,
        typer.Option("--db", metavar="URL", help="Open vSwitch's database, as ovs-vsctl takes it."),
    ] = None,
    output: Output = None,
    force: Force = False,
    everything: Everything = False,
) -> None:
    """Import bridges of Open vSwitch: its database, static addresses and flows."""
    from ofapp.migrate.ovs import ovs_bridges
    from ofapp.migrate.ovsdb import read_ovs

    with _imported("Open vSwitch", output, force, everything) as draft:
        ovs_bridges(draft, read_ovs(saved, database, bridge or ()))


@app.command("faucet")
def faucet_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="faucet.yaml")] = Path(
        "/etc/faucet/faucet.yaml"
    ),
    output: Output = None,
    force: Force = False,
    everything: Everything = False,
) -> None:
    """Import faucet.yaml, with the files that it includes."""
    from ofapp.migrate.faucet import faucet

    with _imported(str(file), output, force, everything) as draft:
        faucet(draft, file)


@app.command("ifupdown")
def ifupdown_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file of ifupdown.")] = Path(
        "/etc/network/interfaces"
    ),
    output: Output = None,
    force: Force = False,
    everything: Everything = False,
) -> None:
    """Import bridges of /etc/network/interfaces: ifupdown, ifupdown2 (Proxmox), Open vSwitch's."""
    from ofapp.migrate.ifupdown import ifupdown

    with _imported(str(file), output, force, everything) as draft:
        ifupdown(draft, file)


@app.command("netplan")
def netplan_(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="The files. Default: /etc/netplan/*.yaml"),
    ] = None,
    output: Output = None,
    force: Force = False,
    everything: Everything = False,
) -> None:
    """Import bridges of netplan, those of Open vSwitch too."""
    from ofapp.migrate.netplan import DIRECTORY, netplan
    from ofapp.migrate.setting import ImportFault

    paths = files or sorted(DIRECTORY.glob("*.yaml"))
    with _imported(", ".join(map(str, paths)), output, force, everything) as draft:
        if not paths:
            raise ImportFault(f"{DIRECTORY}: no file *.yaml there: give the files")
        netplan(draft, paths)
