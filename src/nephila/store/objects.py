"""A folder in an object store, by its address: `s3://bucket/prefix?endpoint=https://…&region=…`, `gs://…`, `az://…`.

The client is obstore, Rust's object_store: multipart uploads outside Python's lock, one signature for all stores
(docs/decisions/0044-object-storage.md). Keys come from where the store's own tools look for them (AWS_ACCESS_KEY_ID …), or as
`ID:SECRET`; they are neither stored nor shown. What goes wrong out there is `Trouble`, what the user wrote wrong is ConfigError.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from nephila.errors import ConfigError

SCHEMES = ("s3", "gs", "az")
PART_BYTES, PARTS_AT_ONCE = 8 << 20, 4
"""An upload holds at most so much of its file in memory. Stores take at most 10,000 parts."""
REQUEST_S, CONNECT_S, REQUEST_TRIES, RETRY_S = 120, 15, 4, 60
"""Deadline of one request (one part), and how long 5xx answers and broken connections are tried again inside of one call."""
SHA256 = "nephila-sha256"
"""The object's metadata that holds its digest."""
KEY_VARIABLE = "NEPHILA_STORE_KEY"
_OPTIONS = ("endpoint", "region")


class Trouble(Exception):
    """The store did not do what it was asked to. The text says what, without secrets."""


class Missing(Trouble):
    """There is no such object, or no such bucket."""


def is_address(text: str) -> bool:
    """Whether this names a place in an object store, and no file."""
    return text.partition("://")[0] in SCHEMES and "://" in text


def check(address: str, key: str = "store") -> None:
    """Raises ConfigError, naming `key`, for an address that cannot be one, and when the package is not there."""
    parts = urlsplit(address)
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise ConfigError(
            f"{key}: {address!r} is no place in an object store; s3://BUCKET/PREFIX is expected (or gs, az)"
        )
    if "@" in parts.netloc or parts.fragment:
        raise ConfigError(
            f"{key}: keys do not belong into the address: give --store-key env:NAME, or the store's own variables"
        )
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name not in _OPTIONS or parts.scheme != "s3" or not value:
            raise ConfigError(f"{key}: {name}={value} is not known; s3 takes ?endpoint=URL&region=NAME")
    try:
        import obstore  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"{key}: object storage needs a package: pip install 'nephila[store]'") from error


class Objects:
    """One folder of a store. `key`: `ID:SECRET`, or "" for the store's own variables. Every method raises Trouble."""

    def __init__(self, address: str, key: str = "") -> None:
        check(address)
        from obstore.store import from_url

        self.address = address
        parts = urlsplit(address)
        given: dict[str, Any] = dict(parse_qsl(parts.query))
        if parts.scheme == "s3":
            given["checksum_algorithm"] = "sha256"  # the store checks each part as it comes in
        key = key or os.environ.get(KEY_VARIABLE, "")
        if key:
            given |= _keys(parts.scheme, key)
        endpoint = given.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL", "")
        with self._told("opened"):
            self._store = from_url(
                f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}",
                client_options={
                    "allow_http": endpoint.startswith("http://"),
                    "timeout": timedelta(seconds=REQUEST_S),
                    "connect_timeout": timedelta(seconds=CONNECT_S),
                },
                retry_config={"max_retries": REQUEST_TRIES, "retry_timeout": timedelta(seconds=RETRY_S)},
                **given,
            )

    def put_file(self, name: str, path: Path, sha256: str) -> None:
        """Upload in parts. The object appears when all of it is there; what was there before stays until then."""
        import obstore

        with self._told(f"{name} written"):
            obstore.put(
                self._store,
                name,
                path,  # and not an open file: so the client reads it by itself, outside Python's lock
                attributes={SHA256: sha256},
                chunk_size=PART_BYTES,
                max_concurrency=PARTS_AT_ONCE,
            )

    def put(self, name: str, data: bytes) -> None:
        import obstore

        with self._told(f"{name} written"):
            obstore.put(self._store, name, data)

    def get(self, name: str) -> bytes:
        """A small object, whole."""
        import obstore

        with self._told(f"{name} read"):
            return bytes(obstore.get(self._store, name).bytes())

    def blocks(self, name: str) -> Iterator[bytes]:
        """The bytes of an object of any size."""
        import obstore

        with self._told(f"{name} read"):
            for block in obstore.get(self._store, name).stream(PART_BYTES):
                yield bytes(block)

    def range(self, name: str, start: int, end: int) -> bytes:
        import obstore

        with self._told(f"{name} read"):
            return bytes(obstore.get_range(self._store, name, start=start, end=end))

    def holds(self, name: str, size: int, sha256: str) -> bool:
        """Whether the object is there with this size, and says that this is its digest."""
        import obstore

        try:
            with self._told(f"{name} asked for"):
                found = obstore.get(self._store, name, options={"head": True})
                return found.meta["size"] == size and found.attributes.get(SHA256) == sha256
        except Missing:
            return False

    def digest(self, name: str) -> str:
        """The SHA-256 of the bytes that the store gives back."""
        found = hashlib.sha256()
        for block in self.blocks(name):
            found.update(block)
        return found.hexdigest()

    def sizes(self) -> dict[str, int]:
        """Every object of the folder and how long it is."""
        import obstore

        with self._told("listed"):
            return {one["path"]: one["size"] for some in obstore.list(self._store) for one in some}

    def delete(self, name: str) -> None:
        """Remove an object; one that is not there is removed already."""
        import obstore

        try:
            with self._told(f"{name} removed"):
                obstore.delete(self._store, name)
        except Missing:
            pass

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except FileNotFoundError as error:
            raise Missing(f"{what}: {_short(error)}") from None
        except (BaseError, OSError, ValueError) as error:
            raise Trouble(f"{what}: {_short(error)}") from None


def _keys(scheme: str, key: str) -> dict[str, str]:
    id, _, secret = key.partition(":")
    if not id or not secret:
        raise ConfigError("store_key: ID:SECRET is expected, as env:NAME or @FILE")
    if scheme == "s3":
        return {"access_key_id": id, "secret_access_key": secret}
    if scheme == "az":
        return {"account_name": id, "account_key": secret}
    raise ConfigError("store_key: gs:// takes its key from GOOGLE_APPLICATION_CREDENTIALS")


def _short(error: BaseException) -> str:
    """The store's own word for it, or the first sentence of the client's. Never a header, so never a key."""
    text = str(error)
    code = re.search(r"<Code>(\w+)</Code>", text)
    status = re.search(r"status code: (\d+ [A-Za-z ]+)", text)
    if code or status:
        return " ".join(found[1].strip() for found in (status, code) if found)
    causes = re.findall(
        r"error sending request|[Cc]onnection refused|timed out|dns error|No such file|permission denied", text
    )
    return ", ".join(dict.fromkeys(causes)) or text.partition("\n")[0][:200]


def sha256_of(path: Path) -> str:
    """The digest of a file, outside Python's lock."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
