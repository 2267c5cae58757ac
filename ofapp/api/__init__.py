"""The REST API: what it says is in `models`, where each answer is made in `routes_*`."""
