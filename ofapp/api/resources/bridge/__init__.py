"""The resources below /v1/bridges."""
