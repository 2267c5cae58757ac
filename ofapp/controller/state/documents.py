"""All stored documents, one line for each; protocol state is restored in this order.

To store something more, declare a `Document` beside it and add its line here.
"""

from __future__ import annotations

from ofapp.controller.access.tokens import TOKENS
from ofapp.controller.hosts.labels import LABELS
from ofapp.controller.problems.absent import KNOWN
from ofapp.controller.problems.acknowledged import ACKNOWLEDGED
from ofapp.controller.problems.cables.stored import CABLES
from ofapp.controller.state.document import Document
from ofapp.controller.state.entries import ENTRIES
from ofapp.controller.state.fabric import FABRIC
from ofapp.controller.state.lifetimes import BINDINGS, PORT_ACCESS
from ofapp.controller.state.protocols import LACP, LOOP_PROTECT, ONE_WAY, SPANNING_TREE
from ofapp.controller.state.settings import ACCEPTED, SETTINGS
from ofapp.controller.state.versions import VERSIONS

DOCUMENTS: tuple[Document, ...] = (
    ENTRIES,
    SETTINGS,
    ONE_WAY,
    LACP,
    SPANNING_TREE,
    LOOP_PROTECT,
    BINDINGS,
    PORT_ACCESS,
    FABRIC,
    CABLES,
    KNOWN,
    TOKENS,
    ACKNOWLEDGED,
    ACCEPTED,
    VERSIONS,
    LABELS,
)
