"""What every room may use: the hub, buckets of tokens, files, histories, printable names."""
