"""The relay: ports that come and go, their states, floods, and frames of the bridge itself."""
