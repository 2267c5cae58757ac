"""The launcher's options, under the names ryu-manager gave them.

They live in os-ken's `CONF`, so an os-ken app beside ours adds its own in the usual way and
`--help` shows them all.  Three of os-ken's defaults are replaced:

- it listens on 0.0.0.0.  A host that reaches the OpenFlow port can be a switch and see every frame
  that is sent to the controller, so it is loopback here until `--ofp-listen-host` says otherwise;
- without a port it listens on 6633 as well as 6653;
- it never notices a dead switch (`maximum-unreplied-echo-requests` is 0).

oslo.config's own `--config-file` reads INI; here the name belongs to the YAML file of `ofapp`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ofapp.api.http import unix_socket as local
from ofapp.config import Config, drop_ins
from ofapp.openflow.wire import echoes
from ofapp.osken import options as cfg

CONF = cfg.CONF

OFP_PORT = 6653
WSAPI_PORT = 8080
STATE_DIR = "/var/lib/ofapp"
CONFIG_FILE = "/etc/ofapp/ofapp.yaml"
AUTO, REQUIRED = "auto", "required"

_OWN = [
    cfg.StrOpt(
        "ofp-listen-host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="where to listen for switches; 0.0.0.0 or :: for switches on other machines"
        " (default: 127.0.0.1)",
    ),
    cfg.IntOpt(
        "ofp-tcp-listen-port",
        default=OFP_PORT,
        min=1,
        max=65535,
        metavar="PORT",
        help=f"OpenFlow port, when no certificate is given (default: {OFP_PORT})",
    ),
    cfg.IntOpt(
        "ofp-ssl-listen-port",
        min=1,
        max=65535,
        metavar="PORT",
        help="OpenFlow port over TLS, used instead of the TCP port when --ctl-privkey and"
        f" --ctl-cert are given (default: {OFP_PORT})",
    ),
    cfg.StrOpt(
        "wsapi-host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="where the REST API listens (default: 127.0.0.1)",
    ),
    cfg.IntOpt(
        "wsapi-port",
        default=WSAPI_PORT,
        min=1,
        max=65535,
        metavar="PORT",
        help=f"port of the REST API (default: {WSAPI_PORT})",
    ),
    cfg.StrOpt(
        "api-privkey",
        metavar="FILE",
        help="private key for the REST API over TLS, PEM, without a password",
    ),
    cfg.StrOpt(
        "api-cert",
        metavar="FILE",
        help="certificate for the REST API over TLS, PEM, with the chain that leads to it; the"
        " files are read again when they change",
    ),
    cfg.StrOpt(
        "api-client-ca",
        metavar="FILE",
        help="who has signed the certificates that clients of the REST API have to show, PEM"
        " (default: they need none)",
    ),
    cfg.StrOpt(
        "api-socket",
        metavar="FILE",
        help="UNIX socket of the REST API, where root and the controller's own user may do"
        f" everything (default: {local.DEFAULT}, or {local.NAME} in another --state-dir)",
    ),
    cfg.StrOpt(
        "api-operators",
        metavar="GROUP",
        help="group whose members are operators over the UNIX socket (default: none)",
    ),
    cfg.StrOpt(
        "api-auth",
        default=AUTO,
        choices=[AUTO, REQUIRED],
        help="whether the REST API on loopback needs a token: auto = from the first token on;"
        " required = always (default: auto). On other addresses it is always required",
    ),
    cfg.BoolOpt(
        "insecure",
        default=False,
        help="serve the REST API to other machines without TLS, or without asking who they are"
        " until the first token is made",
    ),
    cfg.StrOpt(
        "cluster",
        metavar="etcd=HOST:PORT[,HOST:PORT...]",
        help="serve one network together with other members, on this etcd (default: alone)",
    ),
    cfg.StrOpt(
        "member",
        metavar="NAME",
        help="name of this member of the cluster, which no other member has (default: the host's"
        " name)",
    ),
    cfg.BoolOpt(
        "record",
        default=False,
        help="record the inputs and effects of all bridges in memory, at most 40 MiB, for `ofapp"
        " record`, `ofapp replay` and `ofapp support`",
    ),
    cfg.StrOpt(
        "log-format",
        default="auto",
        choices=["auto", "text", "json"],
        help="how the log is written: auto = with priorities and fields to systemd's journal where"
        " standard error leads there, else as text; json = one object a line (default: auto)",
    ),
    cfg.StrOpt(
        "config-file",
        dest="ofapp_config_file",
        metavar="FILE",
        help="YAML file that describes the bridges; drop-ins FILE.d/*.yaml are read after it"
        f" (default: {CONFIG_FILE}, if it is there)",
    ),
    cfg.StrOpt(
        "state-dir",
        default=STATE_DIR,
        metavar="DIR",
        help="where is kept what is set at run time, of this controller and no other"
        f" (default: {STATE_DIR})",
    ),
]


def config_file() -> Path | None:
    """The file that describes the bridges; None if none is given and none is at the usual place.

    A file that has drop-ins and is not there itself is an error, which reading it gives.
    """
    if CONF.ofapp_config_file:
        return Path(CONF.ofapp_config_file)
    usual = Path(CONFIG_FILE)
    try:
        return usual if usual.exists() or drop_ins(usual) else None
    except OSError:
        return usual


def take_addresses(config: Config, directory: Path) -> None:
    """Apply the file's listening addresses; the command line takes precedence.

    directory: that of the file, to which its paths are relative.
    """
    api, channel, tls = config.api, config.channel, config.channel.tls
    files = {"api_socket": api.socket}
    if tls is not None:
        files |= {"ctl_privkey": tls.key, "ctl_cert": tls.cert, "ca_certs": tls.ca}
    if api.tls is not None:
        own = api.tls
        files |= {"api_privkey": own.key, "api_cert": own.cert, "api_client_ca": own.client_ca}
    for option, name in files.items():
        if name is not None:
            CONF.set_default(option, str(directory / name))
    port = "ofp_ssl_listen_port" if CONF.ctl_privkey else "ofp_tcp_listen_port"
    for option, value in (
        ("wsapi_host", api.host),
        ("wsapi_port", api.port),
        ("api_operators", api.operators),
        ("api_auth", api.auth),
        ("ofp_listen_host", channel.host),
        (port, channel.port),
    ):
        if value is not None:
            CONF.set_default(option, value)


def described() -> Iterator[tuple[str, str]]:
    """Options in --help: each with its spelling and its description."""
    for option, group in sorted(CONF._all_cli_opts(), key=lambda item: item[0].name):
        if group is None and option.help and not option.positional:
            flag = f"--{option.name}"
            takes = not isinstance(option, cfg.BoolOpt)
            yield f"{flag} {option.metavar or 'VALUE'}" if takes else flag, option.help


def _no_ini_files(_files: list[str], _dirs: list[str]) -> list[Any]:
    """Stands in for oslo.config's --config-file and --config-dir: `ofapp` has no INI files."""
    return []


def _register() -> None:
    CONF._make_config_options = _no_ini_files
    # Its templates are not in oslo.config's wheel, so that it can only end in a traceback.
    CONF.unregister_opt(cfg.ConfigOpts._shell_completion_opt)
    CONF.supported_shell_completion = []
    for option in _OWN:
        if option.dest in CONF:
            CONF.unregister_opt(option)
        CONF.register_cli_opt(option)
    CONF.set_default("echo_request_interval", echoes.INTERVAL)
    CONF.set_default("maximum_unreplied_echo_requests", echoes.UNREPLIED)
    for option, group in CONF._all_cli_opts():
        if group is not None:  # os-ken's BGP speaker and switch tester: they work, unadvertised
            option.help = argparse.SUPPRESS


_register()
