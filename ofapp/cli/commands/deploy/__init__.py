"""ofapp deploy: moving a host onto a bridge, and back."""
