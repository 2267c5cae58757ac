"""All that ofapp uses of os-ken; no other module imports it.

os-ken 4 runs on native threads unless it is configured otherwise before its first import.
A handler that raises then ends its app's loop silently, so ofapp runs os-ken on its hub.
"""

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

os.environ["OSKEN_HUB_TYPE"] = "eventlet"

import ofapp.common.hub  # patches the standard library, before os-ken is imported


def _on_demand(name: str) -> None:
    """Have a module imported when an attribute of it is first used, and not by its importers."""
    if name in sys.modules:
        return
    stand_in = ModuleType(name)

    def get(attribute: str) -> Any:
        if attribute.startswith("__"):  # asked by code that looks at all modules
            raise AttributeError(attribute)
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]
        return getattr(import_module(name), attribute)

    stand_in.__dict__["__getattr__"] = get
    sys.modules[name] = stand_in


# The parsers of each version of OpenFlow import it, which takes 4.7 MB; ofapp never uses it.
_on_demand("os_ken.lib.packet.packet")
