"""Controllers to compare with that are not programs of their own."""
