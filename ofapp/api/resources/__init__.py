"""REST resources, one module or package each."""
