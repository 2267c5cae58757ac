"""The laboratory as static files: the page, the core as it is installed here, and Pyodide.

Pyodide is Python in WebAssembly. It comes from npm's registry, in one version whose checksum is
known, and is neither in the repository nor in a package of ofapp.  For another version set
`VERSION`, and `INTEGRITY` as `npm view pyodide dist.integrity` prints it, and run tests/page.
"""

from __future__ import annotations

import io
import re
import tarfile
import urllib.request
import zipfile
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha512
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from ofapp.common.assets import PACKED, read_asset

VERSION = "314.0.7"
SOURCE = f"https://registry.npmjs.org/pyodide/-/pyodide-{VERSION}.tgz"
INTEGRITY = (
    "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
)
"""SHA-512 of the package, as npm's registry has it."""

_RUNTIME = (
    *("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm"),
    *("python_stdlib.zip", "pyodide-lock.json"),
)
"""Files of the package that a browser loads."""

_DRAWING = ("canvas.js", "lit.js", "words.js")
"""Modules of the web page that the laboratory imports."""

_CORE = ("bridge", "common", "lab")
"""The packages of ofapp that the browser imports."""

_LIBRARIES = ("annotated_types", "typing_extensions")
"""Pure Python libraries that the core imports."""

IMPORTED = re.compile(r"""(?:from|import) ?["'](\.[^"']+)["']""")
"""The path of a module that another module imports."""

_SECONDS = 60
_OFAPP = files("ofapp")


def download() -> bytes:
    """Download Pyodide's package.  Raises OSError."""
    with urllib.request.urlopen(SOURCE, timeout=_SECONDS) as answer:
        content: bytes = answer.read()
    return content


def build(folder: Path, package: bytes) -> int:
    """Write the laboratory into a folder; gives the number of its files.

    package: npm's package of Pyodide.  Raises ValueError for any other one.
    """
    if b64encode(sha512(package).digest()).decode() != INTEGRITY:
        raise ValueError(
            f"it is not version {VERSION} of npm's package pyodide: its SHA-512 differs"
        )
    count = 0
    for path, content in [*_page(), *_runtime(package), ("core.zip", _core())]:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
        count += 1
    return count


def _runtime(package: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        for name in _RUNTIME:
            content = archive.extractfile(f"package/{name}")
            assert content is not None
            yield f"pyodide/{name}", content.read()


def _page() -> Iterator[tuple[str, bytes]]:
    web, page = _OFAPP / "lab" / "web", _OFAPP / "api" / "page"
    for path in _below(web):
        yield path, read_asset(web, path)
    styles = [path for path in _below(page) if path.startswith("style/")]
    for path in sorted({*styles, *_imported(page)}):
        yield f"page/{path}", read_asset(page, path)


def _imported(page: Traversable) -> set[str]:
    """The modules of the page that the laboratory needs, by their paths."""
    found, left = set[str](), [f"js/{name}" for name in _DRAWING]
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            code = read_asset(page, path).decode()
            names = IMPORTED.findall(code)
            left += (_resolved(PurePosixPath(path).parent, name) for name in names)
    libraries = {"/".join(path.split("/")[:2]) for path in found if path.startswith("vendor/")}
    return found | {f"{library}/LICENSE" for library in libraries}


def _resolved(folder: PurePosixPath, name: str) -> str:
    parts = list[str]()
    for part in (folder / name).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts)


def _below(folder: Traversable, path: str = "") -> Iterator[str]:
    """The files below a folder, by their relative paths."""
    for item in sorted((folder / path if path else folder).iterdir(), key=lambda each: each.name):
        name = f"{path}/{item.name}".lstrip("/")
        if item.is_dir():
            yield from _below(folder, name)
        else:
            yield name.removesuffix(PACKED)


def _core() -> bytes:
    """The Python that runs in the browser, as a ZIP file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in _sources():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _sources() -> Iterator[tuple[str, bytes]]:
    yield "ofapp/__init__.py", (_OFAPP / "__init__.py").read_bytes()
    for part in _CORE:
        for path in _below(_OFAPP / part):
            if path.endswith(".py"):
                yield f"ofapp/{part}/{path}", (_OFAPP / part / path).read_bytes()
    for library in _LIBRARIES:
        spec = find_spec(library)
        assert spec is not None
        assert spec.origin is not None
        inside = f"{library}/__init__.py" if spec.submodule_search_locations else f"{library}.py"
        yield inside, Path(spec.origin).read_bytes()
