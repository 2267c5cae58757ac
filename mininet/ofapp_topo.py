"""Every topology and node of this folder in one file, for `mn --custom mininet/ofapp_topo.py`.

    mn --custom mininet/ofapp_topo.py --topo ring,4

`mn` takes every name of this file into its own globals: see ofapp_lab.py, which says what they do.
"""

import sys
from pathlib import Path

# `mn` executes this file without a `__file__`.
sys.path.append(str(Path(sys._getframe().f_code.co_filename).resolve().parent))
import lab_bond
import lab_curve
import lab_dual_homed
import lab_fabric
import lab_legacy
import lab_mesh
import lab_multicast
import lab_ring
import lab_single
import lab_tree
from ofapp_lab import *  # noqa: F403

topos = {
    **lab_single.topos,
    **lab_ring.topos,
    **lab_mesh.topos,
    **lab_tree.topos,
    **lab_dual_homed.topos,
    **lab_fabric.topos,
    **lab_bond.topos,
    **lab_legacy.topos,
    **lab_multicast.topos,
    **lab_curve.topos,
}
