"""One connected switch: its session, and how it is kept in sync with its bridge."""
