"""The file a user writes, validated.  Runtime state never lives here."""

from ofapp.config.load import ConfigError, load_config
from ofapp.config.model import Config

__all__ = ["Config", "ConfigError", "load_config"]
