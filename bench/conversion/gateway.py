"""A gateway that answers every call after the same time and counts them, in a process of its own.

It keeps connections open, as HTTP/1.1 has it and as servers do.

`serve {"wait_s": …}` says where it is; every empty line that it gets it answers with the number of
calls so far.
"""

import asyncio
import json
import sys
import threading

XML = b'<?xml version="1.0"?><document pages="1"><page/></document>'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n"
HEALTHY = HEAD + b"Content-Length: 2\r\n\r\n{}"
ANSWER = HEAD + b"Content-Length: %d\r\n\r\n" % len(XML) + XML
BACKLOG = 1024


class Gateway:
    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self.calls = 0

    async def serve(self) -> None:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0, backlog=BACKLOG)
        port = server.sockets[0].getsockname()[1]
        _say(event="serving", address=f"http://127.0.0.1:{port}")
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        threading.Thread(target=self._listen, args=[loop, over], daemon=True).start()
        await over.wait()

    def _listen(self, loop: asyncio.AbstractEventLoop, over: asyncio.Event) -> None:
        for _ in sys.stdin:
            _say(event="calls", calls=self.calls)
        loop.call_soon_threadsafe(over.set)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not reader.at_eof():
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"GET"):
                    writer.write(HEALTHY)
                else:
                    await reader.readexactly(_length(head))
                    self.calls += 1
                    await asyncio.sleep(self._wait_s)
                    writer.write(ANSWER)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


def _say(**said: object) -> None:
    print(json.dumps(said), flush=True)


def main() -> None:
    options = json.loads(sys.argv[2])
    asyncio.run(Gateway(options["wait_s"]).serve())


if __name__ == "__main__":
    main()
