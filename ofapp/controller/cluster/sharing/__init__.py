"""What all members share: configuration, documents and tokens."""
