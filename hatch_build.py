"""Compiles what is in C beside the modules that load it, where a C compiler is found; the package works without.

`src/nephila/**/NAME.c` becomes libNAME.so next to it, in wheels and in editable installs alike. The compiler is $CC, or the first of
cc, gcc and clang. A file that cannot be compiled is left out, and its module takes the slower way that every one has: a build
never fails for want of a compiler. The code runs on any processor of the architecture it was built for.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zlib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FLAGS = ["-std=c11", "-O2", "-shared", "-fPIC"]
TIMEOUT_S = 120


class CompileHook(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        built = [library for source in sorted(root.glob("src/nephila/**/*.c")) if (library := compiled(source))]
        if built:
            build_data["artifacts"] += [f"/{library.relative_to(root).as_posix()}" for library in built]
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform()}"


def compiled(source: Path) -> Path | None:
    """The library made from `source`, None if it could not be made. What an earlier build left is gone either way."""
    library = source.with_name(f"lib{source.stem}.so")
    library.unlink(missing_ok=True)
    compiler = (
        shlex.split(os.environ.get("CC", ""))
        or [path for path in map(shutil.which, ("cc", "gcc", "clang")) if path][:1]
    )
    if not compiler or os.name != "posix":
        return None
    unfinished = library.with_name(f".{library.name}.{os.getpid()}")
    # A module may refuse a library that was not made from the source beside it.
    define = f"-DSOURCE_CRC32={zlib.crc32(source.read_bytes())}u"
    try:
        command = [*compiler, *FLAGS, *architectures(), define, "-o", str(unfinished), str(source)]
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False, env=environment())
        if done.returncode or not unfinished.exists():
            return None
        unfinished.replace(library)
    except (OSError, subprocess.TimeoutExpired):
        return None
    finally:
        unfinished.unlink(missing_ok=True)
    return library


def platform() -> str:
    """The platform part of the wheel's tag: that of the Python which builds it."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def architectures() -> list[str]:
    """A Python for both kinds of Mac needs libraries for both."""
    return ["-arch", "arm64", "-arch", "x86_64"] if platform().endswith("universal2") else []


def environment() -> dict[str, str]:
    """On a Mac, for systems as old as the tag promises."""
    target = sysconfig.get_config_var("MACOSX_DEPLOYMENT_TARGET") if sys.platform == "darwin" else None
    return os.environ | ({"MACOSX_DEPLOYMENT_TARGET": str(target)} if target else {})
