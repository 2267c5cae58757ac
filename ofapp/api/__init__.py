"""The REST API: one module or package per resource, with its models, views and routes."""
