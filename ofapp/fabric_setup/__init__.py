"""Preparing the switches of a fabric, and putting their settings back.

The members' bridges, and the interfaces between them, need settings that stand in the database of
each Open vSwitch: the MTU of links, BFD, and the controller.  `settings` has the values, and
`plan` is the pure function from a fabric and a switch as it is observed to what has to change;
the way back is the same settings with the values of before.  `commands` makes commands of
ovs-vsctl of them, which are shown, typed by hand, or run by `apply`.

What was before is on disk first (`journal`), and the watcher of `ofapp.host_setup` puts it back
unless the change is confirmed.
"""

from pathlib import Path

DIRECTORY = Path("/var/lib/ofapp-fabric")
"""Directory of the journals."""
