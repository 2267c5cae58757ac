"""Parameters: how they are declared, those of a bridge, its policies and access lists."""
