"""The numbers of the API in Prometheus' format, one module per subject."""
