"""The forwarding database: learning, limits, static entries and IP addresses."""
