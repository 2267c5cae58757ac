"""Settings of a cluster: its etcd, and this member's name and address."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StrictStr, model_validator

from ofapp.config.base import FaultsError, Model, Number

LEASE_SECONDS = 2, 60
"""etcd lets none live for less than 1.5 elections, 2 s by default; after the longest, neighbours
have taken the switches for gone ten times over."""

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def endpoint(given: str) -> str:
    """HOST:PORT, an IPv6 address in brackets.  Raises ValueError."""
    host, colon, port = given.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not host or (":" in host and not bracketed) or "/" in host:
        raise ValueError(f"{given!r} is not HOST:PORT, as in 192.0.2.1:2379 or [2001:db8::1]:2379")
    if not port.isascii() or not port.isdigit() or not 1 <= int(port) <= 65535:
        raise ValueError(f"{given!r} ends in no port from 1 to 65535, as in 192.0.2.1:2379")
    return given


def member_name(given: str) -> str:
    """Validate a member's name.  Raises ValueError."""
    if not _NAME.fullmatch(given):
        raise ValueError(
            f"{given!r} is no name: 1 to 63 letters, digits, dots, dashes and underscores, with a"
            " letter or digit at both ends"
        )
    return given


def listener(given: str) -> str:
    """ADDRESS or ADDRESS:PORT, an IPv6 address with a port in brackets.  Raises ValueError."""
    host, port = split_listener(given)
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        raise ValueError(f"{given!r} begins with no IP address, as in 192.0.2.1:6654") from None
    if address.is_unspecified:
        raise ValueError(f"{given!r} is no address that others can connect to")
    if not 0 <= port <= 65535:
        raise ValueError(f"{given!r} ends in no port up to 65535, as in 192.0.2.1:6654")
    return given


def split_listener(given: str) -> tuple[str, int]:
    """Address and port of such a text; 0 where it has none, -1 where that is no port."""
    match = re.fullmatch(
        r"\[(?P<six>[^]]*)\](:(?P<port>.*))?|(?P<four>[^:]*)(:(?P<other>.*))?", given
    )
    if match is None:  # an IPv6 address alone
        return given, 0
    port = match["port"] if match["six"] is not None else match["other"]
    host = match["six"] if match["six"] is not None else match["four"]
    if port is None:
        return host, 0
    return host, int(port) if re.fullmatch("[0-9]{1,5}", port) else -1


Endpoint = Annotated[StrictStr, AfterValidator(endpoint)]
Listen = Annotated[StrictStr, AfterValidator(listener)]
Name = Annotated[StrictStr, AfterValidator(member_name)]


class EtcdTls(Model):
    """Files for TLS with etcd, relative to this file; members need none among themselves."""

    ca: StrictStr = Field(description="CA that has signed etcd's certificates, PEM")
    cert: StrictStr | None = Field(
        None,
        description="this member's certificate for etcd, PEM",
    )
    key: StrictStr | None = Field(None, description="its private key, PEM, without a password")

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name, other in (("cert", "key"), ("key", "cert")):
            if getattr(self, name) is None and getattr(self, other) is not None:
                raise FaultsError([((name,), f"is needed with `{other}`: give both, or none")])
        return self


class Cluster(Model):
    """The cluster that this controller is a member of; a change needs a restart."""

    etcd: list[Endpoint] = Field(
        [], max_length=16, description="where etcd's nodes are, HOST:PORT (or --cluster)"
    )
    name: Name = Field(
        "default", description="name of the cluster: several clusters may share an etcd"
    )
    member: Name | None = Field(
        None, description="unique name of this member; default: the host's name"
    )
    listen: Listen | None = Field(
        None,
        description="where other members reach this one: an address of this machine, and a port if"
        " it shall be a fixed one; without it the address that etcd is reached from",
    )
    lease: Annotated[Number, Field(ge=LEASE_SECONDS[0], le=LEASE_SECONDS[1])] = Field(
        2, description="seconds until another member takes over the switches of a silent one"
    )
    tls: EtcdTls | None = None
    user: StrictStr | None = Field(None, description="etcd user, if etcd requires one")
    password_file: StrictStr | None = Field(
        None, description="file with that user's password in its first line"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name, other in (("user", "password_file"), ("password_file", "user")):
            if getattr(self, name) is None and getattr(self, other) is not None:
                raise FaultsError([((name,), f"is needed with `{other}`: give both, or none")])
        return self
