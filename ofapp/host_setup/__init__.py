"""Moving a host onto a bridge, and back, without losing it.

A session usually comes in over the very NIC that moves, so three ideas carry this package:

- What a host should look like is a value, a `Layout`, and a plan is the difference between the
  host as it is observed and a layout (`plan`).  Putting things back is the same function with the
  layout of before: there are no inverse steps that could be left out or run twice, and a host that
  was left in the midst of anything at all is just another observation.
- Both layouts are on disk before the first step (`journal`), and a separate process watches over
  the process that takes the steps (`watcher`): when that dies, hangs, or is not confirmed, the
  watcher plans back to the layout of before.
- Nothing is moved that cannot be seen to work: the controller is reached, and has the bridge, while
  the NIC still carries the host (`proof`), and the gateway has to answer through the bridge after.

`model` is what a user asks for, `state` what is observed, `wanted` makes the layout of both,
`checks` says what stands against it; these and `plan` are pure.  `netlink` and `ovsdb`
touch the host, through pyroute2 and ovsdbapp; `controller_file` writes a drop-in of the
controller's file where the uplinks form an aggregation, with the text that `lagfile` makes.
"""

from pathlib import Path

DIRECTORY = Path("/var/lib/ofapp-deploy")  # of the journals; not in /var/lib/ofapp, which is the
# controller's user's: root does what a journal says
