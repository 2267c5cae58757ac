"""/v1/what-if: predictions by a copy of the network."""
