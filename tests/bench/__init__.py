"""Benchmarks of the OpenFlow channel, of memory and of the REST API: see README.md, run `./run`."""
