"""Tables by which a switch forwards as a member of a fabric."""
