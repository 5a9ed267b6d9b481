"""Small writes of one turn of the loop, sent together."""

import asyncio

from holdfast.api.server.joined_writes import AT_MOST, JoinedWrites


class Noting(asyncio.Transport):
    """A transport that notes what it is told to do."""

    def __init__(self):
        super().__init__()
        self.told = []

    def write(self, data):
        self.told.append(bytes(data))

    def close(self):
        self.told.append("close")

    def abort(self):
        self.told.append("abort")

    def is_closing(self):
        return self.told[-1:] in (["close"], ["abort"])

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass


def told_after(*steps):
    """Return what a transport is told when these steps are taken in one turn, and after it."""

    async def taken():
        below = Noting()
        joined = JoinedWrites(below, asyncio.get_running_loop())
        for step in steps:
            step(joined)
        at_once = list(below.told)
        await asyncio.sleep(0)
        return at_once, below.told

    return asyncio.run(taken())


def write(data):
    return lambda joined: joined.write(data)


def test_what_is_written_in_one_turn_is_sent_together_after_it():
    assert told_after(write(b"head"), write(b"body")) == ([], [b"headbody"])


def test_what_is_much_is_sent_at_once_so_that_the_transport_counts_it():
    much = b"x" * AT_MOST

    assert told_after(write(much), write(b"more")) == ([much], [much, b"more"])
    assert told_after(write(b"head"), write(much)) == ([b"head" + much], [b"head" + much])


def test_what_was_written_is_sent_before_it_hangs_up():
    all_of_it = [b"answer", "close"]

    assert told_after(write(b"answer"), lambda joined: joined.close()) == (all_of_it, all_of_it)


def test_what_was_written_is_lost_when_the_connection_is_cut():
    assert told_after(write(b"answer"), lambda joined: joined.abort()) == (["abort"], ["abort"])
