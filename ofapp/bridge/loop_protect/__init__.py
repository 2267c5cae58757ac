"""Loop protection: edge ports send frames that lead back to this bridge where there is a loop.

    params      what can be set
    frame       the frames: made, and checked
    holds       the ports that are held, for how long, and when they open again
    on_bridge   the protocol: when ports send, and what a returned frame means

A frame that comes back shows that hosts' frames come back, too, by the same path: other bridges,
those of this controller among them, forward it as an ordinary group frame.  So a loop through
several bridges is found by each of them, without any knowledge of the others.

Only edge ports send, and only edge ports are held.  Spanning tree finds the loops between bridges
that run it.
"""
