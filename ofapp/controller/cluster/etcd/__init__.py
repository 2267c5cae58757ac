"""Access to etcd: requests, watches, and the history that they rely on."""
