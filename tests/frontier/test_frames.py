import asyncio
import random
import socket
import struct

import msgspec
import pytest
import uvloop

from nephila.frontier import frames
from nephila.frontier.frames import (
    Bye,
    Closed,
    Failed,
    FrameError,
    Hello,
    Leases,
    Opened,
    Returned,
    Settled,
    Stop,
    Wire,
    to_front,
    to_worker,
)
from nephila.types import Found, Kind, Lease, NewLink, Outcome, Record, Request, RobotsFile, Settlement

SETTLEMENT = Settlement(
    9,
    Outcome.OK,
    found=Found(b"\1" * 16, 1, [NewLink(2**64 - 1, "http://é/", Kind.EMBED, "host", -3)]),
    items=[{"a": 1}],
)
TO_FRONT = [
    Opened("a.warc.gz", 7),
    Settled([SETTLEMENT, Settlement(2**63 - 1, Outcome.DENIED, record=Record("f", 1 << 40, 2))]),
    Closed("a.warc.gz"),
    Returned([1, 2]),
    Failed("DiskFull", "no space", "Traceback"),
    Bye(),
]
TO_WORKER = [
    Hello(b"\0spec"),
    Leases(3, b"scope", [Lease(1, Request("http://a/"), 2**64 - 1, robots=RobotsFile("found", b"x\xff"))]),
    Leases(3, None, []),
    Stop(),
]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request):
    factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop

    def run(main):
        async def limited():
            async with asyncio.timeout(10):
                return await main()

        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(limited())

    return run


class End:
    """One end of a pair: a wire here, the bare socket there."""

    def __init__(self, decoder=None):
        self.ours, self.theirs = socket.socketpair()
        self.got, self.ended = [], asyncio.get_running_loop().create_future()
        self.wire = Wire(self.ours, decoder or to_front(), self.got.append, self.ended.set_result)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exc):
        self.wire.close()
        self.ours.close()
        self.theirs.close()


def packed(frame):
    data = msgspec.msgpack.encode(frame)
    return struct.pack("<I", len(data)) + data


async def until(condition):
    while not condition():  # noqa: ASYNC110 (what is waited for has no event)
        await asyncio.sleep(0.001)


@pytest.mark.parametrize(("sent", "decoder"), [(TO_FRONT, to_front), (TO_WORKER, to_worker)])
def test_every_frame_arrives_as_it_was_sent(run, sent, decoder):
    async def main():
        async with End(decoder()) as end, End() as other:
            for frame in sent:
                other.wire.send(frame)
            end.theirs.sendall(other.theirs.recv(1 << 20))
            await until(lambda: len(end.got) == len(sent))
            assert end.got == sent

    run(main)


def test_frames_cut_anywhere_are_put_together(run):
    async def main():
        rng = random.Random(5)
        stream = b"".join(map(packed, TO_FRONT)) * 20
        async with End() as end:
            at = 0
            while at < len(stream):
                step = rng.choice([1, 2, 3, 5, 40, 300])
                end.theirs.sendall(stream[at : at + step])
                at += step
                await asyncio.sleep(0)
            await until(lambda: len(end.got) == 20 * len(TO_FRONT))
            assert end.got == TO_FRONT * 20

    run(main)


def test_a_frame_larger_than_one_read_and_than_the_socket_arrives(run):
    async def main():
        async with End() as end:
            big = Settled([Settlement(1, Outcome.OK, title="x" * 5_000_000)])
            sending = asyncio.to_thread(end.theirs.sendall, packed(big) + packed(Bye()))
            await asyncio.gather(sending, until(lambda: len(end.got) == 2))
            assert end.got == [big, Bye()]

    run(main)


def test_what_the_socket_does_not_take_follows_in_order(run):
    async def main():
        async with End() as left, End() as right:
            left.wire.close()
            middle = Wire(left.theirs, to_front(), lambda frame: None, lambda error: None)
            sent = [Settled([Settlement(n, Outcome.OK, title="x" * 100_000)]) for n in range(40)]
            for frame in sent:
                middle.send(frame)
            choked = middle.choked
            receiving = Wire(left.ours, to_front(), right.got.append, lambda error: None)
            await middle.drained()
            await until(lambda: len(right.got) == 40)
            receiving.close()
            middle.close()
            assert (choked, right.got) == (True, sent)

    run(main)


def test_the_end_of_the_other_side_comes_after_its_last_frame(run):
    async def main():
        async with End() as end:
            end.theirs.sendall(packed(Bye()) + b"\x09\0\0\0torn")
            end.theirs.close()
            assert await end.ended is None
            assert end.got == [Bye()]

    run(main)


def test_a_frame_over_the_limit_is_refused_on_arrival(run):
    async def main():
        async with End() as end:
            end.theirs.sendall(struct.pack("<I", frames.FRAME_BYTES_MAX + 1))
            error = await end.ended
            assert str(error) == "a frame of 67108865 bytes is over the limit of 67108864"

    run(main)


def test_a_frame_over_the_limit_is_not_sent(run, monkeypatch):
    monkeypatch.setattr(frames, "FRAME_BYTES_MAX", 100)

    async def main():
        async with End() as end:
            with pytest.raises(FrameError, match="a Closed frame of 204 bytes is over the limit of 100"):
                end.wire.send(Closed("x" * 200))

    run(main)


@pytest.mark.parametrize("junk", [b"\xc1", b"", b"\x93\x01\x02\x03", msgspec.msgpack.encode(Stop())])
def test_what_does_not_decode_ends_the_wire_with_an_error(run, junk):
    async def main():
        async with End() as end:
            end.theirs.sendall(packed(Bye()) + struct.pack("<I", len(junk)) + junk)
            assert isinstance(await end.ended, FrameError)
            assert end.got == [Bye()]

    run(main)


def test_a_paused_wire_reads_nothing(run):
    async def main():
        async with End() as end:
            end.wire.pause()
            end.theirs.sendall(packed(Bye()))
            await asyncio.sleep(0.02)
            assert end.got == []
            end.wire.resume()
            await until(lambda: end.got)

    run(main)


def test_the_rest_of_a_dead_side_is_read_by_hand(run):
    async def main():
        async with End() as end:
            end.wire.pause()
            end.theirs.sendall(packed(Closed("x" * 90_000)) + packed(Bye()) + b"\x09\0\0\0torn")
            end.theirs.close()
            while end.wire.read_rest():
                pass
            assert [type(frame) for frame in end.got] == [Closed, Bye]
            assert end.ended.done()

    run(main)


def test_the_last_frame_is_with_the_kernel_when_finish_returns(run):
    async def main():
        async with End() as end:
            end.wire.send(Closed("a"))
            end.wire.finish(Bye(), 1.0)
            assert end.theirs.recv(1000) == packed(Closed("a")) + packed(Bye())

    run(main)
