"""Data shared by all members: configuration, documents and tokens."""
