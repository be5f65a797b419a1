"""Loading what was compiled from C beside a module, when the package was built where a compiler is (hatch_build.py).

Every such module has a slower way that needs no compiler, and takes it when there is nothing to load.
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Callable
from pathlib import Path


def library(source: Path) -> ctypes.PyDLL | None:
    """What was made from `source` (NAME.c): libNAME.so beside it. None where it was not built, or from another text than lies
    here: its constant `NAME_source` holds the CRC-32 of the text.

    It is called with the interpreter's lock held: a call takes microseconds, getting the lock back could take milliseconds.
    """
    try:
        found = ctypes.PyDLL(str(source.with_name(f"lib{source.stem}.so")))
        built_from = ctypes.c_uint32.in_dll(found, f"{source.stem}_source").value
        return found if built_from == zlib.crc32(source.read_bytes()) else None
    except (OSError, ValueError):
        return None


def scan(source: Path, *takes: type) -> Callable[..., int] | None:
    """The one function of such a part, `nephila_NAME`, which takes arguments of these types and returns a number; None like
    `library`."""
    found = library(source)
    if found is None:
        return None
    made = found[f"nephila_{source.stem}"]
    made.restype, made.argtypes = ctypes.c_int64, takes
    return made
