"""The configuration: what runs, what is set at run time, and reload."""
