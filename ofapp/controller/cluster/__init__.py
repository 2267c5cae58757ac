"""Several controllers for one network: membership, ownership of switches, shared state.

Imported only in a cluster; a single controller needs neither this package nor etcd.
"""
