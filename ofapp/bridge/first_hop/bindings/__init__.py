"""The bindings of a bridge: the table, its limits, and which binding it takes."""
