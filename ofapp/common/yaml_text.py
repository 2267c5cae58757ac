"""Values as YAML that the configuration's reader takes for the same values."""

import re
from typing import Any

import yaml

_LIKE_A_NUMBER = re.compile(r"[-+.0-9][-+.0-9A-Za-z_]*")


class _Dumper(yaml.SafeDumper):
    """Writes text in quotes where YAML 1.1 sees line ends or invisible characters, which can be
    written as escapes, and where it looks like a number (0E0 is one to the configuration's reader,
    but not to PyYAML)."""


def _text(dumper: Any, value: str) -> Any:
    plain = value.isprintable() and not _LIKE_A_NUMBER.fullmatch(value)
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if plain else '"')


_Dumper.add_representer(str, _text)


def yaml_text(values: Any) -> str:
    """The values as lines of YAML, in their order."""
    written: str = yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return written
