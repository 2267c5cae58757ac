"""The documentation: the guide, and the description of the API."""
