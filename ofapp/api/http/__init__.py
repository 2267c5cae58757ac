"""HTTP itself: the server, its limits, TLS, the UNIX socket, and the reading of requests."""
