"""State on disk that must survive a restart and cannot be read from a switch.

    entries-<datapath id>.json   entries of tables that were set at run time, and
    settings-<datapath id>.json  parameters: both synced before the request is answered
    bridge-<datapath id>.json    spanning tree of a moment ago: not synced, for a process's crash
    lacp-<datapath id>.json      the same of LACP
    configuration.json           extent of the configuration file when it was last accepted
    versions.json                former contents of the configuration file: synced
    tokens.json                  hashes of the API's tokens (`controller.access`): synced
    audit.log                    who changed what, one JSON object a line

`documents.DOCUMENTS` declares all of them but the log.  A file is replaced as a whole, so that it
is the old or the new one.  Each bridge has its own files, so that a damaged file affects one
bridge, and a change of one bridge writes little.  Invalid files are set aside and logged, and never
keep the controller from starting.  Slow operations run outside the event loop (`saving`).
"""

from ofapp.controller.state.entries import RunTimeEntries
from ofapp.controller.state.entry_kinds import BindingEntry, MdbEntry, StaticEntry
from ofapp.controller.state.saving import NotSavedError
from ofapp.controller.state.settings import AcceptedFile
