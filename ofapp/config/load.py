"""Reading the configuration file: every error at once, each with its place."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import ValidationError

from ofapp.config.model import Config


class ConfigError(Exception):
    """The file cannot be read or is not valid; the message has a line for each fault."""


def load_config(path: Path | None) -> Config:
    """The configuration in the file, the defaults without one; ConfigError."""
    if path is None:
        return Config()
    try:
        document = yaml.safe_load(path.read_text())
        return Config.model_validate({} if document is None else document)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not YAML: {error}") from error
    except ValidationError as error:
        faults = "\n".join(
            f"{path}: {'.'.join(map(str, fault['loc'])) or 'the file'}: {fault['msg']}"
            for fault in error.errors()
        )
        raise ConfigError(faults) from error
