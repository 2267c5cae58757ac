"""Effects of the core to OpenFlow messages."""
