"""What is refused of hosts: claims, the latest of them, and why."""
