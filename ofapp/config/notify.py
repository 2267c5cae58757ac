"""The section `notify` of the file: where each problem that begins or ends is sent."""

from __future__ import annotations

from collections.abc import Iterator
from string import Formatter
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, StrictStr, model_validator

from ofapp.config.base import FaultsError, Model

FIELDS = (
    *("id", "kind", "change", "severity", "bridge", "port", "message"),
    *("advice", "remedy", "since", "host"),
)
"""Placeholders of a template, and the keys of what is sent without a template."""
SCHEMES = ("http", "https")


def url_fault(url: str) -> str | None:
    """Why notifications cannot be sent to a URL; None if they can.  The reason has no secrets."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - ValueError for a port that is no number
    except ValueError as error:
        return f"is no URL: {error}"
    if parts.scheme not in SCHEMES or not parts.hostname:
        return "must be http://HOST/PATH or https://HOST/PATH"
    if parts.username is not None:
        return "must not have a user or password: give a token by `token_file`"
    if not url.isascii() or not url.isprintable() or " " in url:
        return "must be of printable ASCII characters without blanks"
    return None


class SendError(Exception):
    """A notification was not taken; the text has no secrets."""


class Notify(Model):
    """Webhook: each problem that begins or ends is sent to a URL by POST, as JSON.

    Files are relative to this file, and read again for each request.
    """

    url: StrictStr | None = Field(
        None, max_length=2000, description="where to send it: https://HOST/PATH or http://HOST/PATH"
    )
    url_file: StrictStr | None = Field(
        None, description="file with the URL in its first line, for a URL that is a secret"
    )
    token_file: StrictStr | None = Field(
        None, description="file with a token in its first line, sent as `Authorization: Bearer`"
    )
    ca: StrictStr | None = Field(
        None,
        description="CA that has signed the receiver's certificate, PEM; default: the system's",
    )
    severity: Literal["info", "warning", "error"] = Field(
        "warning", description="the least severity that is sent"
    )
    template: dict[StrictStr, JsonValue] | None = Field(
        None,
        description="the body, with placeholders in its texts, as"
        " {text: '{severity}: {bridge} {message}'}; default: all fields. Placeholders: "
        + ", ".join(FIELDS),
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.url is None) == (self.url_file is None):
            raise FaultsError([(("url",), "give `url` or `url_file`, one of them")])
        if self.url is not None and (fault := url_fault(self.url)):
            raise FaultsError([(("url",), fault)])
        faults = [
            (("template", *path), fault)
            for path, text in _texts(self.template or {}, ())
            if (fault := _template_fault(text))
        ]
        if faults:
            raise FaultsError(faults)
        return self

    def body(self, values: dict[str, str]) -> Any:
        """The body of a notification, as JSON.  values: those of `FIELDS`."""
        return values if self.template is None else _filled(self.template, values)


def _texts(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(each, (*path, key))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _texts(each, (*path, place))


def _template_fault(text: str) -> str | None:
    try:
        parts = [*Formatter().parse(text)]
    except ValueError as error:
        return f"is no template: {error}; a brace itself is doubled"
    for _, field, spec, conversion in parts:
        if field is not None and (field not in FIELDS or spec or conversion):
            return f"has no placeholder {{{field}}}: there are {', '.join(FIELDS)}"
    return None


def _filled(value: Any, values: dict[str, str]) -> Any:
    if isinstance(value, str):
        return value.format_map(values)
    if isinstance(value, dict):
        return {key: _filled(each, values) for key, each in value.items()}
    return [_filled(each, values) for each in value] if isinstance(value, list) else value
