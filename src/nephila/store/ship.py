"""A finished view into the store: a file as one object, a folder as many, whole or not at all.

One object appears when it is whole. A store has no such moment for many, so the last one says that all are there: the list
`nephila-manifest.json`, name → [bytes, SHA-256]. It goes first and comes last, so what lies below a list is whole.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from urllib.parse import urlsplit

from nephila.errors import ConfigError
from nephila.store.objects import Missing, Objects, Trouble, sha256_of

MANIFEST = "nephila-manifest.json"


def ship(made: Path, address: str) -> int:
    """Put the file or folder `made` at `address`; objects of an earlier view that this one does not have are removed. Returns how
    many objects. Raises ConfigError when the store will not; what was put by then is removed again."""
    above, _, name = urlsplit(address).path.rstrip("/").rpartition("/")
    if not name:
        raise ConfigError(f"--to {address}: a name behind the bucket is expected, s3://BUCKET/NAME")
    try:
        if made.is_dir():
            return _folder(made, Objects(address))
        _put(Objects(urlsplit(address)._replace(path=above).geturl()), name, made)
        return 1
    except (Trouble, ValueError, AttributeError) as error:
        raise ConfigError(f"--to {address}: the view is not there ({error}): say the same command again") from None


def _folder(made: Path, objects: Objects) -> int:
    files = {path.relative_to(made).as_posix(): path for path in sorted(made.rglob("*")) if path.is_file()}
    before: set[str] = set()
    with contextlib.suppress(Missing):
        before = set(json.loads(objects.get(MANIFEST)))
    objects.delete(MANIFEST)
    put: list[str] = []
    try:
        told = {}
        for name, path in files.items():
            put.append(name)
            told[name] = [path.stat().st_size, _put(objects, name, path)]
        for name in before.difference(files):
            objects.delete(name)
        objects.put(MANIFEST, json.dumps(told, ensure_ascii=False).encode())
    except BaseException:
        for name in put:
            with contextlib.suppress(Trouble):
                objects.delete(name)
        raise
    return len(files) + 1


def _put(objects: Objects, name: str, path: Path) -> str:
    sha256, size = sha256_of(path), path.stat().st_size
    if not objects.holds(name, size, sha256):
        objects.put_file(name, path, sha256)
        if not objects.holds(name, size, sha256):
            raise Trouble(f"{name} is not there as it was sent (size or digest differ)")
    return sha256
