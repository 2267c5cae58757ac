"""What of os-ken is not imported, as ofapp does not use it."""

from __future__ import annotations

import subprocess
import sys

USE = """
import sys
import ofapp.osken.application, ofapp.osken.parser, ofapp.osken.server

name = "os_ken.lib.packet.packet"
assert not hasattr(sys.modules[name], "__file__"), "it is imported"
{use}
made = packet.Packet()
made.add_protocol(ethernet.ethernet())
made.serialize()
assert len(made.data) == 60
assert isinstance(made, sys.modules[name].Packet)
"""


def test_the_packet_library_is_imported_by_applications_that_use_it() -> None:
    for use in (
        "from os_ken.lib.packet import ethernet, packet",
        "import os_ken.lib.packet.packet as packet; from os_ken.lib.packet import ethernet",
    ):
        subprocess.run([sys.executable, "-c", USE.format(use=use)], check=True)
