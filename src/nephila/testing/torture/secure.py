"""The server's side of TLS on a connection that is open already.

asyncio has its own way, which loses what the client said before it began, and hangs up before an alert is out; here both are
what a case is about.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any


class SecureWriter:
    """As much of a StreamWriter as cases use, over TLS; `shake` gives the reader that belongs to it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, context: ssl.SSLContext) -> None:
        self._reader, self._writer = reader, writer
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._in, self._out, server_side=True)
        self._pump: asyncio.Task[None] | None = None

    async def shake(self) -> asyncio.StreamReader:
        """The handshake. Raises SSLError, after its alert was sent, or EOFError."""
        while not await self._done(self.tls.do_handshake):
            pass
        plain = asyncio.StreamReader(limit=1 << 20)
        self._pump = asyncio.create_task(self._read_on(plain))
        return plain

    def write(self, data: bytes) -> None:
        if data:
            self.tls.write(data)
            self._flush()

    async def drain(self) -> None:
        await self._writer.drain()

    def close(self) -> None:
        """With a farewell (RFC 8446 section 6.1) if there still is time."""
        if self._pump is not None:
            self._pump.cancel()
        if not self._writer.is_closing():
            try:
                self.tls.unwrap()
            except ssl.SSLError:  # it waits for the other farewell, and we do not
                pass
            self._flush()
        self._writer.close()

    def is_closing(self) -> bool:
        return self._writer.is_closing()

    def get_extra_info(self, name: str) -> Any:
        return self._writer.get_extra_info(name)

    @property
    def transport(self) -> asyncio.WriteTransport:
        return self._writer.transport

    def _flush(self) -> None:
        if data := self._out.read():
            self._writer.write(data)

    async def _done(self, step: Callable[[], object]) -> bool:
        """Take a step; when it needs more bytes, wait for some and return False."""
        try:
            step()
            return True
        except ssl.SSLWantReadError:
            self._flush()
            data = await self._reader.read(65536)
            if not data:
                raise EOFError from None
            self._in.write(data)
            return False
        finally:
            self._flush()

    async def _read_on(self, plain: asyncio.StreamReader) -> None:
        """Everything that comes, until the end of the connection."""

        def read() -> None:
            if not (data := self.tls.read(65536)):
                raise EOFError
            plain.feed_data(data)

        try:
            while True:
                await self._done(read)
        except (OSError, EOFError):  # an SSLError is an OSError
            plain.feed_eof()
