"""`ofapp-manager`: launch options, what is checked first, the log, the watchdog."""
