"""Which member is the owner of which switch."""
