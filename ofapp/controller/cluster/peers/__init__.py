"""The members of a cluster, and requests between them."""
