"""Files for browsers, of which the Debian package has some compressed only."""

import gzip
from importlib.resources.abc import Traversable

PACKED = ".gz"


def read_asset(folder: Traversable, path: str) -> bytes:
    """Read a file below a folder, or else the compressed one with the same content."""
    packed = folder / f"{path}{PACKED}"
    if packed.is_file():
        return gzip.decompress(packed.read_bytes())
    return (folder / path).read_bytes()
