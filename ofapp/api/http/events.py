"""Events of the API's server, and of what a controller leaves open to the network."""

from __future__ import annotations

from ofapp.bridge.event import ERROR, INFO, WARNING, EventKind

OPENFLOW_INSECURE = EventKind(
    "openflow.insecure",
    WARNING,
    "The OpenFlow port is open without TLS, or without certificates of switches.",
    "Give --ctl-privkey, --ctl-cert and --ca-certs (deploy/tls).",
)
API_INSECURE = EventKind(
    "api.insecure",
    WARNING,
    "The REST API is served without TLS or without authentication.",
    "Give --api-cert and --api-privkey, and make a token.",
)
API_NO_TOKENS = EventKind(
    "api.no-tokens",
    WARNING,
    "The REST API is open to other machines, and there is no token yet.",
    "Make one as root on this machine: `ofapp token create`.",
)
API_CROWDED = EventKind(
    "api.crowded",
    WARNING,
    "The limit of API clients was reached; those idle longest are disconnected.",
    "See which clients keep connections open.",
    "...",
)
API_CROWDED_CLEARED = EventKind(
    "api.crowded.cleared", INFO, "The API accepts further clients again.", fields="..."
)
API_STARVED = EventKind(
    "api.starved",
    WARNING,
    "The API cannot accept connections.",
    "Raise the limit of open files.",
    "...",
)
API_STARVED_CLEARED = EventKind(
    "api.starved.cleared", INFO, "The API accepts connections again.", fields="..."
)
API_STREAMS_FULL = EventKind(
    "api.streams.full",
    WARNING,
    "The limit of event streams of a client, or of the API, was reached; more are refused.",
    "Close streams that are not read; give each client its own token.",
    "...",
)
API_STREAMS_FULL_CLEARED = EventKind(
    "api.streams.full.cleared", INFO, "Event streams are served again.", fields="..."
)
API_QUESTIONS_FULL = EventKind(
    "api.questions.full",
    WARNING,
    "A limit of what-if questions of a token, an address or all was reached; more are refused.",
    "See which client asks so much; give each client its own token.",
    "...",
)
API_QUESTIONS_FULL_CLEARED = EventKind(
    "api.questions.full.cleared", INFO, "What-if questions are answered again.", fields="..."
)
API_TLS_RENEWED = EventKind(
    "api.tls.renewed", INFO, "New connections to the API get the new certificate."
)
API_TLS_REFUSED = EventKind(
    "api.tls.refused",
    ERROR,
    "The new certificate of the API is unusable; the old one is kept.",
    "Replace the files as the message says.",
)
API_TLS_REFUSED_CLEARED = EventKind(
    "api.tls.refused.cleared", INFO, "The new certificate is in use."
)
