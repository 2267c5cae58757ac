"""OpenFlow messages, one module per kind: reading and writing at fixed offsets."""
