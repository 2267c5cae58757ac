"""The uplinks' aggregation in the controller's file: read, put in and taken out.  Pure.

A person wrote that file, with comments and in their own order, so lines are put in and taken out
and nothing else is touched.  What is put in bears a mark, and only what bears it is taken out.  The
text that comes of it says what it said before and the aggregation, or LagFileError says why not:
where a section stands in braces, is an alias, or is no section at all, a person has to write it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from ofapp.deploy.state import FileLag, Lag

MARK = "# ofapp deploy"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}  # YAML 1.1 and 1.2


class LagFileError(Exception):
    """The text cannot be changed by a program: one line for a person, with what to write."""


def lags_in(text: str) -> tuple[FileLag, ...]:
    """Every bridge's aggregations, as far as they can be read; LagFileError for what is no YAML."""
    return tuple(_found(_root(text), text.splitlines()))


def with_lag(text: str, lag: Lag) -> str:
    """With the aggregation, in the place of the one of ours that the bridge had; LagFileError."""
    text = without_lag(text, lag.bridge, lag.name)
    text += "" if text.endswith("\n") or not text else "\n"
    keys = ["bridges", lag.bridge, "lags", lag.name]
    root = _root(text)
    if root is None:  # it may have comments
        return _inserted(text, len(text.splitlines()), _lines(keys, lag, 0))
    if root.flow_style:
        raise LagFileError(f"it is all in braces; write there by hand: {advice(lag)}")
    left = keys
    node: yaml.Node = root
    while (pair := _pair(node, left[0])) is not None:
        if len(left) == 1:
            raise LagFileError(f"{'.'.join(keys)} is there already, and is not {written(lag)}")
        _check(pair, keys[: 1 - len(left)], lag)
        key, node = pair
        left = left[1:]
        if not isinstance(node, yaml.MappingNode):  # a section that has nothing in it
            return _inserted(
                text, key.start_mark.line + 1, _lines(left, lag, key.start_mark.column + 2)
            )
    column = node.value[0][0].start_mark.column
    line = node.end_mark.line if node is root else node.value[0][0].start_mark.line
    return _inserted(text, line, _lines(left, lag, column))


def without_lag(text: str, bridge: str, name: str) -> str:
    """Without what `with_lag` put in; a section with other content stays."""
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


def _pair(node: yaml.Node | None, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    for pair in node.value if isinstance(node, yaml.MappingNode) else ():
        if isinstance(pair[0], yaml.ScalarNode) and pair[0].value == key:
            found: tuple[yaml.Node, yaml.Node] = pair
            return found
    return None


def _pair_at(node: yaml.Node | None, keys: list[str]) -> tuple[yaml.Node, yaml.Node] | None:
    pair = None
    for key in keys:
        pair = _pair(node, key)
        node = pair[1] if pair else None
    return pair


def _check(pair: tuple[yaml.Node, yaml.Node], keys: list[str], lag: Lag) -> None:
    """LagFileError unless lines can be put in there."""
    key, value = pair
    place = f"{'.'.join(keys)} in line {key.start_mark.line + 1}"
    elsewhere = value.start_mark.index < key.end_mark.index
    if isinstance(value, yaml.MappingNode) and not value.flow_style and not elsewhere:
        return
    if isinstance(value, yaml.ScalarNode) and not value.value and not elsewhere:
        return
    raise LagFileError(
        f"{place} is not a section of lines that something can be put into; write there by hand:"
        f" {advice(lag)}"
    )


def _found(root: yaml.MappingNode | None, lines: list[str]) -> Iterator[FileLag]:
    bridges = _pair(root, "bridges")
    for bridge, own in _pairs(bridges and bridges[1]):
        lags = _pair(own, "lags")
        for name, lag in _pairs(lags and lags[1]):
            members = _pair(lag, "members")
            listed = members[1].value if members else ()
            lacp = _pair(lag, "lacp")
            yield FileLag(
                Lag(
                    bridge.value,
                    name.value,
                    tuple(one.value for one in listed if isinstance(one, yaml.ScalarNode)),
                    lacp[1].value if lacp else "active",
                ),
                ours=lines[name.start_mark.line].rstrip().endswith(MARK),
            )


def _pairs(node: yaml.Node | None) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if isinstance(key, yaml.ScalarNode):
            yield key, value


def _lines(keys: list[str], lag: Lag, indent: int) -> list[str]:
    """Sections, and in the last of them the aggregation."""
    made = [f"{_word(key)}:" for key in keys[:-1]] + [written(lag)]
    return [f"{' ' * (indent + 2 * at)}{line}  {MARK}" for at, line in enumerate(made)]


def _inserted(text: str, line: int, new: list[str]) -> str:
    lines = text.splitlines(keepends=True)
    return "".join([*lines[:line], *(f"{one}\n" for one in new), *lines[line:]])


def _quoted_off(word: str) -> str:
    return f'"{word}"' if word in _WORDS else word


def _word(text: str) -> str:
    """A name as YAML takes it for text."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
