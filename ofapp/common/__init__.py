"""What every package may use: the hub, token buckets, files, histories, printable names."""
