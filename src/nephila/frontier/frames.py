"""The wire between the front process and a worker: what crosses it, and how.

A frame is its length (4 bytes, little endian) and one msgpack value; everything crosses in batches. The wire reads and
writes the socket itself, through the loop's `add_reader` and `add_writer`, in place of a transport: the same code runs on
asyncio and uvloop, what a dead worker left in the socket can be read to its last byte, and reading can be paused at once.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from nephila.types import Lease, Settlement

FRAME_BYTES_MAX = 64 << 20
"""Largest frame: a page of 20,000 links of 2 KiB fits; a longer one is a bug on the other side."""
READ_BYTES = 256 << 10
"""Read at once, then other events of the loop get their turn."""
UNSENT_HIGH, UNSENT_LOW = 1 << 20, 256 << 10
"""`drained` waits while more than HIGH bytes are unsent, until there are less than LOW."""

_HEAD = struct.Struct("<I")


class Hello(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """First frame to a worker. `spec` is the msgpack form of its WorkerSpec."""

    spec: bytes


class Leases(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """Work. `scope` is the msgpack form of the scope of this epoch, None when the worker has it already."""

    epoch: int
    scope: bytes | None
    leases: list[Lease]


class Stop(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """End well: return what is not started, settle what is running, close the archive, say Bye."""


class Opened(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """An archive file exists; comes before the first settlement that lies in it."""

    file: str
    pid: int


class Settled(msgspec.Struct, frozen=True, array_like=True, tag=5):
    settlements: list[Settlement]


class Closed(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """Nothing more will be written to this archive file."""

    file: str


class Returned(msgspec.Struct, frozen=True, array_like=True, tag=7):
    """Leases (their ids) that were never started."""

    leases: list[int]


class Failed(msgspec.Struct, frozen=True, array_like=True, tag=8):
    """The worker ends with an error of ours: the name of its class, what it says, and the traceback."""

    error: str
    message: str
    traceback: str


class Bye(msgspec.Struct, frozen=True, array_like=True, tag=9):
    """Last frame of a worker that ends well."""


class Ready(msgspec.Struct, frozen=True, array_like=True, tag=10):
    """The worker is at work: leases may come. (One that dies before has met no page.)"""


ToWorker = Hello | Leases | Stop
ToFront = Ready | Opened | Settled | Closed | Returned | Failed | Bye
F = TypeVar("F")


class FrameError(Exception):
    """A frame that is too large or does not decode: a bug on the other side of the wire."""


def to_worker() -> msgspec.msgpack.Decoder[ToWorker]:
    return msgspec.msgpack.Decoder(ToWorker)


def to_front() -> msgspec.msgpack.Decoder[ToFront]:
    return msgspec.msgpack.Decoder(ToFront)


class Wire(Generic[F]):
    """One end of the socket pair, on the running loop.

    `on_frame` is called with each frame in order. `on_end` is called once: with None at end of file (or a broken
    connection), with the error when a frame is bad or `on_frame` raised.
    """

    def __init__(
        self,
        sock: socket.socket,
        decoder: msgspec.msgpack.Decoder[F],
        on_frame: Callable[[F], None],
        on_end: Callable[[BaseException | None], None],
    ) -> None:
        sock.setblocking(False)
        self._sock, self._decode, self._on_frame, self._on_end = sock, decoder.decode, on_frame, on_end
        self._loop = asyncio.get_running_loop()
        self._encode_into = msgspec.msgpack.Encoder().encode_into
        self._chunk = bytearray(READ_BYTES)
        self._rest, self._unsent = bytearray(), bytearray()
        self._waiters: list[asyncio.Future[None]] = []
        self._reading = self._writing = self._ended = False
        self.resume()

    def send(self, frame: object) -> None:
        """Hand a frame to the socket; what it does not take now follows by itself. Silent once the wire has ended."""
        data = self._pack(frame)
        if self._ended:
            return
        if not self._unsent:
            del data[: self._push(data)]
        if data:
            self._unsent += data
            self._want_write(True)

    async def drained(self) -> None:
        """Wait while too much is unsent."""
        if len(self._unsent) > UNSENT_HIGH and not self._ended:
            waiter = self._loop.create_future()
            self._waiters.append(waiter)
            await waiter

    @property
    def choked(self) -> bool:
        """So much is unsent that `drained` would wait."""
        return len(self._unsent) > UNSENT_HIGH

    def pause(self) -> None:
        """Read nothing until `resume`: the other side feels it in its own `drained`."""
        if self._reading:
            self._loop.remove_reader(self._sock)
            self._reading = False

    def resume(self) -> None:
        if not self._reading and not self._ended:
            self._loop.add_reader(self._sock, self._readable)
            self._reading = True

    def read_rest(self) -> bool:
        """Read on by hand (the other process is dead). False when nothing is left."""
        self.pause()
        return not self._ended and self._readable()

    def finish(self, frame: object, timeout_s: float) -> None:
        """Send a last frame and wait, blocking, until the kernel has it all. Raises OSError when it cannot be sent."""
        self._unsent += self._pack(frame)
        self.close()
        self._sock.settimeout(timeout_s)
        self._sock.sendall(self._unsent)

    def close(self) -> None:
        """Leave the loop. The socket itself belongs to who made it."""
        self._ended = True
        self.pause()
        self._want_write(False)
        self._release()

    def _pack(self, frame: object) -> bytearray:
        data = bytearray(_HEAD.size)
        self._encode_into(frame, data, _HEAD.size)
        size = len(data) - _HEAD.size
        if size > FRAME_BYTES_MAX:
            raise FrameError(f"a {type(frame).__name__} frame of {size} bytes is over the limit of {FRAME_BYTES_MAX}")
        _HEAD.pack_into(data, 0, size)
        return data

    def _push(self, data: bytearray) -> int:
        try:
            return self._sock.send(data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:  # the other side is gone: reading says so, after what it has sent is read
            return len(data)

    def _writable(self) -> None:
        del self._unsent[: self._push(self._unsent)]
        if len(self._unsent) < UNSENT_LOW:
            self._release()
        if not self._unsent:
            self._want_write(False)

    def _want_write(self, wanted: bool) -> None:
        if wanted != self._writing:
            self._writing = wanted
            if wanted:
                self._loop.add_writer(self._sock, self._writable)
            else:
                self._loop.remove_writer(self._sock)

    def _release(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    def _readable(self) -> bool:
        try:
            size = self._sock.recv_into(self._chunk)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:  # reset: the same as an end
            size = 0
        error: BaseException | None = None
        if size:
            try:
                self._feed(memoryview(self._chunk)[:size])
                return True
            except Exception as trouble:
                error = trouble
        self.close()
        self._on_end(error)
        return False

    def _feed(self, chunk: memoryview) -> None:
        """Deliver every whole frame of what has come; a part of one waits in `_rest`."""
        if not self._rest:
            used = self._deliver(chunk)
            self._rest += chunk[used:]
            return
        self._rest += chunk
        if len(self._rest) >= _HEAD.size and len(self._rest) >= self._length(self._rest, 0) + _HEAD.size:
            rest, self._rest = self._rest, bytearray()
            with memoryview(rest) as view:
                used = self._deliver(view)
                self._rest += view[used:]

    def _deliver(self, view: memoryview) -> int:
        at, end = 0, len(view)
        while end - at >= _HEAD.size:
            start = at + _HEAD.size
            stop = start + self._length(view, at)
            if stop > end:
                break
            try:
                frame = self._decode(view[start:stop])
            except msgspec.MsgspecError as error:
                raise FrameError(f"a frame of {stop - start} bytes does not decode: {error}") from error
            at = stop
            self._on_frame(frame)
        return at

    @staticmethod
    def _length(data: memoryview | bytearray, at: int) -> int:
        (size,) = _HEAD.unpack_from(data, at)
        if size > FRAME_BYTES_MAX:
            raise FrameError(f"a frame of {size} bytes is over the limit of {FRAME_BYTES_MAX}")
        return int(size)
