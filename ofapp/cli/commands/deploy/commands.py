"""ofapp deploy: a host onto a bridge, and back.

The only commands that change this machine itself.  They need root and Open vSwitch; of the
controller they want that it takes the bridge.  What they need is imported when they run.
"""

from __future__ import annotations

import typer

from ofapp.cli.arguments import JsonOption
from ofapp.cli.commands.deploy import options
from ofapp.host_setup import DIRECTORY

app = typer.Typer(
    no_args_is_help=True,
)


@app.command("apply", help="Make the bridge and move the NICs' addresses, routes and MTU to it.")
@app.command("plan", help="Show what `apply` with these options would do, and the obstacles.")
def plan_or_apply(
    context: typer.Context,
    bridge: options.BridgeOption = None,
    nics: options.NicOption = None,
    bond: options.BondOption = None,
    ports: options.PortOption = None,
    datapath: options.DatapathOption = None,
    controllers: options.ControllerOption = None,
    confirm_within: options.WithinOption = None,
    confirm_ping: options.PingOption = None,
    mtu: options.MtuOption = None,
    mac: options.MacOption = None,
    datapath_id: options.DatapathIdOption = None,
    rate_limit: options.RateOption = None,
    burst_limit: options.BurstOption = None,
    in_band: options.InBandOption = None,
    stp_guard: options.GuardOption = None,
    settle_within: options.SettleOption = None,
    config_file: options.FileOption = None,
    journal: options.JournalOption = DIRECTORY,
    db: options.DatabaseOption = None,
    api: options.RestOption = None,
    json: JsonOption = False,
) -> None:
    """One function, so that the two always take the same options."""
    wish = {
        **{"bridge": bridge, "nics": nics or None, "ports": ports or None, "datapath": datapath},
        **{"controllers": controllers or None, "api": api, "in_band": in_band, "mtu": mtu},
        **{"bond": bond, "mac": mac, "datapath_id": datapath_id, "stp_guard": stp_guard},
        **{"rate_limit": rate_limit, "burst_limit": burst_limit, "settle_within": settle_within},
    }
    from ofapp.cli.commands.deploy import work
    from ofapp.host_setup.journal import Store

    if confirm_ping is not None:
        work.check_address(confirm_ping)
        confirm_within = confirm_within or work.PING_SECONDS
    config, store = options.read_config(config_file, wish), Store(journal)
    survey = work.look(config, store, db, confirm_within is not None)
    if context.info_name == "plan":
        work.show_plan(survey, json)
    else:
        work.do_apply(survey, store, confirm_within, confirm_ping)


@app.command()
def confirm(
    bridge: options.BridgeOption = None, journal: options.JournalOption = DIRECTORY
) -> None:
    """Keep what `apply` did: nothing is put back by itself any more.

    Type it in a new session: that it gets through is the proof that this host can be reached.
    """
    from ofapp.cli.reversible import confirm_all
    from ofapp.host_setup.journal import Store

    confirm_all(Store(journal), bridge)


@app.command()
def revert(bridge: options.BridgeOption = None, journal: options.JournalOption = DIRECTORY) -> None:
    """Remove the bridge, and give its addresses and routes back to the NICs."""
    from ofapp.cli.commands.deploy import work
    from ofapp.host_setup.journal import Store

    work.do_revert(Store(journal), bridge)


@app.command()
def recover(
    bridge: options.BridgeOption = None, journal: options.JournalOption = DIRECTORY
) -> None:
    """Finish what was broken off: for a unit that runs at boot and after Open vSwitch restarts.

    What was not confirmed is put back; what was confirmed is restored where it got lost.
    """
    from ofapp.cli.commands.deploy import work
    from ofapp.host_setup.journal import Store

    work.do_recover(Store(journal), bridge)


@app.command()
def status(journal: options.JournalOption = DIRECTORY, json: JsonOption = False) -> None:
    """Show what is deployed, and what waits for a confirmation."""
    from ofapp.cli.commands.deploy import work
    from ofapp.host_setup.journal import Store

    work.show_status(Store(journal), json)
