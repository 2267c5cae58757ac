"""Several controllers that serve one network: members, who owns which switch, what they share.

Imported only where there is a cluster; one controller alone needs none of it, nor etcd.
"""
