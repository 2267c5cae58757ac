"""Options of the command line and the log: oslo.config and what os-ken registers with it."""

import os_ken.base.app_manager
import os_ken.controller.controller
from os_ken.cfg import CONF, BoolOpt, ConfigOpts, IntOpt, MultiStrOpt, RequiredOptError, StrOpt
from os_ken.log import init_log  # (which registers --verbose, --log-file and the like)
