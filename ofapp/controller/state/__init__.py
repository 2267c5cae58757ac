"""What must survive a restart and no switch can be asked for, on disk.

    entries-<datapath id>.json   entries of tables that were set at run time, and
    settings-<datapath id>.json  parameters: both synced before anybody is told that they are
    bridge-<datapath id>.json    what protocols knew a moment ago: not synced, for a process's crash
    lacp-<datapath id>.json      the same of LACP
    configuration.json           how much the configuration file said when it was last accepted
    tokens.json                  hashes of who may use the API (`controller.access`): synced
    audit.log                    who changed what, one JSON object a line

A file is replaced as a whole, so that it is the old or the new one.  There is one for each bridge,
so that a file that is damaged is one bridge's trouble, and a change of one bridge writes little.
Files that are no such files are set aside and told of, and never keep the controller from starting.
Whatever takes time is done outside the event loop (`keeper`).
"""

from ofapp.controller.state.accepted import AcceptedFile
from ofapp.controller.state.entries import Kept, MdbEntry, StaticEntry
from ofapp.controller.state.keeper import NotSavedError
from ofapp.controller.state.snapshots import Snapshots
from ofapp.controller.state.store import State

__all__ = [
    "AcceptedFile",
    "Kept",
    "MdbEntry",
    "NotSavedError",
    "Snapshots",
    "State",
    "StaticEntry",
]
