"""Address and access rules of the REST API by the options, and combinations that are refused.

What goes to other machines goes over TLS, as a token that anybody on the way can read is worth
nothing; and all requests there need a token.  Anything else needs `--insecure`, so that an open API
is always intended.
"""

from __future__ import annotations

import grp
import os
import ssl
from collections.abc import Iterator
from pathlib import Path

from ofapp.api.http import unix_socket as local
from ofapp.api.http.events import API_INSECURE, API_NO_TOKENS, OPENFLOW_INSECURE
from ofapp.api.http.server import ApiAddress, is_loopback
from ofapp.api.http.tls import TlsFiles
from ofapp.bridge.event import Event
from ofapp.controller.access import Access, Rules
from ofapp.launcher.errors import StartError, check_readable
from ofapp.launcher.options import CONF, REQUIRED, STATE_DIR


def check() -> None:
    """StartError unless the API can be served as the options in `CONF` say."""
    _check_tls()
    _check_group()
    if CONF.api_socket:
        _check_socket(Path(CONF.api_socket))
    if not (is_loopback(CONF.wsapi_host) or CONF.api_cert or CONF.insecure):
        raise StartError(
            f"--wsapi-host {CONF.wsapi_host} would serve the REST API to other machines in clear,"
            " where tokens and answers can be read and changed on the way: give --api-cert and"
            " --api-privkey (`ofapp docs tls` shows how to make them), or leave it on 127.0.0.1"
            " behind something that speaks TLS, or say --insecure if that is meant",
            status=2,
        )


def place() -> ApiAddress:
    """Return the address of the REST API."""
    tls = None
    if CONF.api_cert:
        authority = Path(CONF.api_client_ca) if CONF.api_client_ca else None
        tls = TlsFiles(Path(CONF.api_privkey), Path(CONF.api_cert), authority)
    site = Path(CONF.state_dir).absolute() / "site"
    return ApiAddress(CONF.wsapi_host, CONF.wsapi_port, tls, _socket(), site)


def certificates(etcd: Path | None) -> dict[str, Path]:
    """The files of this controller's certificates, by use.  etcd: that of etcd's client."""
    given = {"the REST API": CONF.api_cert, "OpenFlow": CONF.ctl_cert, "etcd's client": etcd}
    return {use: Path(file) for use, file in given.items() if file}


def rules() -> Rules:
    """Return the access rules of the REST API."""
    elsewhere = not is_loopback(CONF.wsapi_host) and not CONF.insecure
    return Rules(
        required=elsewhere or CONF.api_auth == REQUIRED,
        own=os.geteuid(),
        operators=grp.getgrnam(CONF.api_operators).gr_gid if CONF.api_operators else None,
    )


def _socket() -> Path:
    """Each controller has its own, as each has its own state directory."""
    if CONF.api_socket:
        return Path(CONF.api_socket)
    usual = CONF.state_dir == STATE_DIR
    return local.DEFAULT if usual else Path(CONF.state_dir).absolute() / local.NAME


def _check_tls() -> None:
    files = {"--api-privkey": CONF.api_privkey, "--api-cert": CONF.api_cert}
    missing = [option for option, path in files.items() if not path]
    if len(missing) == 2 and not CONF.api_client_ca:
        return
    if missing:
        raise StartError(f"the REST API over TLS needs both {' and '.join(files)}", status=2)
    for option, path in (*files.items(), ("--api-client-ca", CONF.api_client_ca)):
        if path:
            check_readable(option, path)
    tls = place().tls
    assert tls is not None
    try:
        tls.context()
    except (ssl.SSLError, ValueError) as error:
        raise StartError(
            f"{', '.join(f'{option} {path}' for option, path in files.items())}: not a certificate"
            f" and its unencrypted key, or --api-client-ca has no certificates: {error}"
        ) from None


def _check_group() -> None:
    if CONF.api_operators:
        try:
            grp.getgrnam(CONF.api_operators)
        except KeyError:
            raise StartError(f"--api-operators {CONF.api_operators}: no such group") from None


def _check_socket(path: Path) -> None:
    try:
        local.listen(path).close()
        local.remove(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StartError(f"cannot listen at --api-socket {path}: {reason}") from None


def exposures(access: Access) -> Iterator[Event]:
    """Warnings about where the controller listens."""
    host = CONF.ofp_listen_host
    if not is_loopback(host) and not CONF.ctl_privkey:
        yield OPENFLOW_INSECURE.event(
            f"switches connect to {host} without TLS: any host that reaches that port can pose as a"
            " switch, see what is sent to the controller and change what is learned; give"
            " --ctl-privkey, --ctl-cert and --ca-certs (deploy/tls)"
        )
    elif not is_loopback(host) and not CONF.ca_certs:
        yield OPENFLOW_INSECURE.event(
            f"switches connect to {host} over TLS, but need no certificate: any host that reaches"
            " that port can pose as a switch; give --ca-certs (deploy/tls)"
        )
    host = CONF.wsapi_host
    if is_loopback(host):
        return
    if not CONF.api_cert:
        yield API_INSECURE.event(
            f"the REST API is served at {host} in clear, as --insecure says: tokens and answers"
            " can be read and changed on the way"
        )
    if not access.closed:
        yield API_INSECURE.event(
            f"the REST API at {host} is open to any client, as --insecure says, until the"
            " first token is made (ofapp token create)"
        )
    elif not access.tokens.made:
        yield API_NO_TOKENS.event(
            f"the REST API at {host} refuses all clients: make a token on this machine, as root"
            " (ofapp token create NAME --role viewer)"
        )
