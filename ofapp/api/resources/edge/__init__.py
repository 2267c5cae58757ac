"""Resources about what is behind edge ports."""
