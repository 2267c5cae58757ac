"""Several switches that forward as one bridge: where each frame goes, at each member."""
