"""Controllers to compare with that are not separate programs."""
