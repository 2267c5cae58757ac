"""The API in a cluster: every member answers for all of them."""
