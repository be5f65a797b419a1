"""Views of archives that no crawl of ours has made (`export VIEW --from FILE`): which files are meant, opened as a job."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from nephila.archive.reader import Decode
from nephila.errors import ConfigError
from nephila.views.catalogue import Catalogue
from nephila.views.source import Source

NAMES = ("*.warc", "*.warc.gz", "*.warc.zst", "*.arc", "*.arc.gz", "*.tianwang", "*.wacz")
"""What is looked for in a folder."""


@contextmanager
def borrowed(paths: Sequence[Path], decode: Decode, complain: Callable[[str], object]) -> Iterator[Source]:
    """The archives at `paths` (files, or folders of them) as a job. `complain` is told of each damage. Raises ConfigError when
    there is nothing to read, Damaged for a file that is none of the known forms."""
    with tempfile.TemporaryDirectory(prefix="nephila-") as scratch:
        folder = Path(scratch)
        files = [found for path in paths for found in _files(path, folder)]
        with Catalogue(folder, decode, complain) as catalogue:
            for path in files:
                catalogue.add(path)
        if not catalogue.visits:
            raise ConfigError(f"--from: no pages in {', '.join(map(str, paths))}")
        with Source(folder, decode, files=catalogue.files) as source:
            yield source


def _files(path: Path, scratch: Path) -> Iterator[Path]:
    """The archive files that are meant. Those in a WACZ are taken out of it."""
    if path.is_dir():
        found = sorted({file for name in NAMES for file in path.rglob(name)})
        if not found:
            raise ConfigError(f"--from {path}: no archive files in this folder ({', '.join(NAMES)})")
        for file in found:
            yield from _files(file, scratch)
    elif path.is_file() and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as wacz:
            inside = [info for info in wacz.infolist() if info.filename.startswith("archive/") and info.file_size]
            if not inside:
                raise ConfigError(f"--from {path}: a zip file without archive/: no WACZ")
            for number, info in enumerate(inside):
                info.filename = f"{path.name}-{number}-{Path(info.filename).name}"
                yield Path(wacz.extract(info, scratch))
    elif path.is_file():
        yield path
    else:
        raise ConfigError(f"--from {path}: there is no such file")
