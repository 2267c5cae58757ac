"""All bridges of this controller, and the single entry point for every requested change."""
