"""The uplinks' aggregation in the controller's configuration, as text.  Pure.

`ofapp deploy` writes a drop-in of the controller's file, and removes it at the way back.  Versions
before 0.3 put marked lines into the file itself; these are still recognised and taken out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import yaml

from ofapp.host_setup.state import FileLag, Lag

MARK = "# ofapp deploy"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}  # YAML 1.1 and 1.2


class LagFileError(Exception):
    """The configuration cannot be read or changed: one line for a person."""


def lags_in(texts: Iterable[str]) -> tuple[FileLag, ...]:
    """Every bridge's aggregations in the file and its drop-ins; LagFileError if one is no YAML.

    An aggregation in a later text replaces that of the same name, as the controller merges them.
    """
    lags = {
        (known.lag.bridge, known.lag.name): known
        for text in texts
        for known in _found(_root(text), text.splitlines())
    }
    return tuple(lags.values())


def drop_in(lag: Lag) -> str:
    """The text of the drop-in with the aggregation."""
    lines = ["bridges:", f"  {_word(lag.bridge)}:", "    lags:", f"      {written(lag)}"]
    return "\n".join([f"{MARK}: written by `apply`, removed by `revert`", *lines, ""])


def is_ours(text: str) -> bool:
    """Whether the text is a drop-in that `drop_in` has made."""
    return text.startswith(MARK)


def without_lag(text: str, bridge: str, name: str) -> str:
    """Without the lines that versions before 0.3 put in; a section with other content stays."""
    keys = ["bridges", bridge, "lags", name]
    while keys:
        pair = _pair_at(_root(text), keys)
        if pair is None:
            return text
        key, value = pair
        lines = text.splitlines(keepends=True)
        line = key.start_mark.line
        filled = len(keys) < 4 and not (isinstance(value, yaml.ScalarNode) and not value.value)
        if filled or not lines[line].rstrip().endswith(MARK):
            return text
        text = "".join([*lines[:line], *lines[line + 1 :]])
        keys.pop()
    return text


def written(lag: Lag) -> str:
    """The aggregation as a line of the file, from its name on."""
    members = ", ".join(map(_word, lag.members))
    more = "" if lag.lacp == "off" else ", fallback: true"
    return f"{_word(lag.name)}: {{members: [{members}], lacp: {_quoted_off(lag.lacp)}{more}}}"


def advice(lag: Lag) -> str:
    """All of it on one line, for a person who writes it."""
    return f"bridges: {{{_word(lag.bridge)}: {{lags: {{{written(lag)}}}}}}}"


def _root(text: str) -> yaml.MappingNode | None:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise LagFileError(f"it is not YAML: {' '.join(str(error).split())}") from None
    if root is None or (isinstance(root, yaml.ScalarNode) and not root.value):
        return None
    if not isinstance(root, yaml.MappingNode):
        raise LagFileError("it has no sections")
    return root


def _pair_at(node: yaml.Node | None, keys: list[str]) -> tuple[yaml.Node, yaml.Node] | None:
    pair = None
    for key in keys:
        pair = next((item for item in _pairs(node) if item[0].value == key), None)
        node = pair[1] if pair else None
    return pair


def _found(root: yaml.MappingNode | None, lines: list[str]) -> Iterator[FileLag]:
    ours = bool(lines) and is_ours(lines[0])
    bridges = _pair_at(root, ["bridges"])
    for bridge, section in _pairs(bridges and bridges[1]):
        lags = _pair_at(section, ["lags"])
        for name, lag in _pairs(lags and lags[1]):
            members = _pair_at(lag, ["members"])
            listed = members[1].value if members else ()
            lacp = _pair_at(lag, ["lacp"])
            yield FileLag(
                Lag(
                    bridge.value,
                    name.value,
                    tuple(one.value for one in listed if isinstance(one, yaml.ScalarNode)),
                    lacp[1].value if lacp else "active",
                ),
                ours=ours or lines[name.start_mark.line].rstrip().endswith(MARK),
            )


def _pairs(node: yaml.Node | None) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if isinstance(key, yaml.ScalarNode):
            yield key, value


def _quoted_off(word: str) -> str:
    return f'"{word}"' if word in _WORDS else word


def _word(text: str) -> str:
    """A name as YAML takes it for text."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
