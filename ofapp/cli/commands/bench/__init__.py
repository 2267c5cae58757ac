"""ofapp bench: how fast a bridge is, beside what it replaces."""
