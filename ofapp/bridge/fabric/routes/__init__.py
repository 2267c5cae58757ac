"""Ways of frames through a graph: next hops of unicast frames, and trees for all others."""
