"""Checks before any application starts.

os-ken would meet a taken port or a bad certificate in its own thread, as a traceback, with the
process staying up and useless.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from pathlib import Path

from ofapp.config import ConfigError, load_config
from ofapp.launcher import api, cluster
from ofapp.launcher.errors import StartError, check_readable
from ofapp.launcher.options import CONF, OFP_PORT, config_file, take_addresses


def check(*, rest: bool) -> None:
    """Raise `StartError` unless files and ports are as the options in `CONF` need them.

    `rest`: whether the REST API will be served.  Fills in the default port for TLS.
    """
    _take_config_file()
    _check_tls()
    with contextlib.ExitStack() as sockets:  # both, so that they are found to be different
        port = "--ofp-ssl-listen-port" if CONF.ctl_privkey else "--ofp-tcp-listen-port"
        sockets.enter_context(
            _bound(CONF.ofp_listen_host, _ofp_port(), f"--ofp-listen-host, {port}")
        )
        if rest:
            api.check()
            sockets.enter_context(
                _bound(CONF.wsapi_host, CONF.wsapi_port, "--wsapi-host, --wsapi-port")
            )


def ofp_address() -> str:
    """Return the OpenFlow address in the notation of `ovs-vsctl set-controller`."""
    host = CONF.ofp_listen_host
    host = f"[{host}]" if ":" in host else host
    return f"{'ssl' if CONF.ctl_privkey else 'tcp'}:{host}:{_ofp_port()}"


def _ofp_port() -> int:
    return int(CONF.ofp_ssl_listen_port if CONF.ctl_privkey else CONF.ofp_tcp_listen_port)


def _bound(host: str, port: int, options: str) -> socket.socket:
    """A socket that listens there: proof that no other process does."""
    probe = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        probe.listen()
    except OSError as error:
        probe.close()
        reason = error.strerror or str(error)
        raise StartError(f"cannot listen on {host} port {port} ({options}): {reason}") from None
    return probe


def _check_tls() -> None:
    needed = {"--ctl-privkey": CONF.ctl_privkey, "--ctl-cert": CONF.ctl_cert}
    missing = [name for name, path in needed.items() if not path]
    if len(missing) == 2:
        for name, value in (
            ("--ca-certs", CONF.ca_certs),
            ("--ciphers", CONF.ciphers),
            ("--ofp-ssl-listen-port", CONF.ofp_ssl_listen_port),
        ):
            if value:
                raise StartError(f"{name} needs --ctl-privkey and --ctl-cert", status=2)
        return
    if missing:
        raise StartError(f"TLS needs both --ctl-privkey and --ctl-cert: {missing[0]} is missing", 2)
    if not CONF.ofp_ssl_listen_port:
        CONF.set_override("ofp_ssl_listen_port", OFP_PORT)

    for name, path in (*needed.items(), ("--ca-certs", CONF.ca_certs)):
        if path:
            check_readable(name, path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:  # the empty password: os-ken could not ask for one either
        context.load_cert_chain(CONF.ctl_cert, CONF.ctl_privkey, password="")
    except (ssl.SSLError, ValueError) as error:
        raise StartError(
            f"--ctl-cert {CONF.ctl_cert} and --ctl-privkey {CONF.ctl_privkey}"
            f" are not a certificate and its unencrypted key: {error}"
        ) from None
    if CONF.ca_certs:
        try:
            context.load_verify_locations(CONF.ca_certs)
        except (ssl.SSLError, ValueError) as error:
            raise StartError(f"--ca-certs {CONF.ca_certs} is of no use: {error}") from None
    if CONF.ciphers:
        try:
            context.set_ciphers(CONF.ciphers)
        except ssl.SSLError:
            raise StartError(
                f"--ciphers {CONF.ciphers} names no cipher (see `openssl ciphers -v`)"
            ) from None


def _take_config_file() -> None:
    path = config_file()
    if path is None:
        cluster.settings(None, Path())
        return
    if CONF.ofapp_config_file:
        check_readable("--config-file", CONF.ofapp_config_file)
    try:
        config = load_config(path)
    except ConfigError as error:
        raise StartError("; ".join(str(error).splitlines())) from None
    take_addresses(config, path.parent)
    cluster.settings(config.cluster, path.parent)
