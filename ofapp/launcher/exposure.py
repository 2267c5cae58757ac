"""Warnings at the start: addresses where other hosts reach this controller unprotected."""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.api.http.events import API_INSECURE, API_NO_TOKENS, OPENFLOW_INSECURE
from ofapp.api.http.server import is_loopback
from ofapp.bridge.event import Event
from ofapp.controller.access import Access
from ofapp.launcher.options import CONF


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
