"""What the API shows and changes, one module or package per resource."""
