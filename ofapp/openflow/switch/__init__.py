"""One connected switch: its session, and how it is kept in line with its bridge."""
