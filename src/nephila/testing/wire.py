"""A server's end of a connection that a test holds in its hands: what is said goes out byte for byte."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any


class Wire:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def hang_up(self) -> None:
        """End of file, after what was said."""
        self.writer.close()

    def reset(self) -> None:
        """RST in place of an end of file."""
        sock: Any = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()
