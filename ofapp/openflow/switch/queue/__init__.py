"""What waits on its way to or from a switch."""
