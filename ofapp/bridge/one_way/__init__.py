"""One-way links: a port whose neighbour does not hear it is closed.

    events      events
    problems    problems
    on_bridge   the ports that are held, and when they open again

LLDP finds such links (`lldp.hearing`).  A held port is out of spanning tree and of its aggregation,
as if its link were down; LLDP goes on there, and notices when the neighbour hears it again.
"""
