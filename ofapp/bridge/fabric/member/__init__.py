"""The one bridge of a fabric as each of its members sees it, in the member's port numbers."""
