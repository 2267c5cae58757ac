"""All stored documents, one line for each; protocol state is restored in this order.

To store something more, declare a `Document` beside it and add its line here.
"""

from __future__ import annotations

from ofapp.controller.access.tokens import TOKENS
from ofapp.controller.problems.acknowledged import ACKNOWLEDGED
from ofapp.controller.problems.stored_cables import CABLES
from ofapp.controller.state.bindings import BINDINGS
from ofapp.controller.state.document import Document
from ofapp.controller.state.entries import ENTRIES
from ofapp.controller.state.fabric import FABRIC
from ofapp.controller.state.protocols import LACP, SPANNING_TREE
from ofapp.controller.state.settings import ACCEPTED, SETTINGS

DOCUMENTS: tuple[Document, ...] = (
    ENTRIES,
    SETTINGS,
    LACP,
    SPANNING_TREE,
    BINDINGS,
    FABRIC,
    CABLES,
    TOKENS,
    ACKNOWLEDGED,
    ACCEPTED,
)
