"""Cost of a forwarded frame by parts: driver, stack, bridge, memory, locks."""
