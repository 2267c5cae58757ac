"""Bytes: the channel, its lanes, what is sent and what is read."""
