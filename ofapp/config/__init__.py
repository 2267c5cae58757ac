"""The file a user writes, validated.  Runtime state never lives here."""

from ofapp.config.errors import ConfigError, Fault
from ofapp.config.load import drop_ins, load_config, merged_config, parse_config
from ofapp.config.model import Config
