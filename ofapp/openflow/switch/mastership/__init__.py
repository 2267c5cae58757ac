"""Which controller is the master of a switch."""
