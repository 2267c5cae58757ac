"""All that ofapp uses of os-ken; no other module imports it.

os-ken 4 runs on native threads unless it is configured otherwise before its first import.
A handler that raises then ends its app's loop silently, so ofapp runs os-ken on its hub.
"""

import os

os.environ["OSKEN_HUB_TYPE"] = "eventlet"

import ofapp.common.hub  # patches the standard library, before os-ken is imported
