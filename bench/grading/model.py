"""A model that answers every call at once with the same evidence, in a process of its own.

`python -m bench.grading.model` writes its address as a line of JSON, and ends with its stdin.
"""

import asyncio
import json
import sys
import threading

EVIDENCE = {
    "requirements": [{"requirement": "an opinion", "met": True, "quote": "In my opinion"}],
    "levels": [
        {"criterion": name, "level": 4, "quote": "In my opinion"}
        for name in ("taskFulfillment", "organization", "vocabulary", "grammar")
    ],
}
ANSWER = json.dumps(
    {
        "id": "bench",
        "object": "chat.completion",
        "created": 0,
        "model": "bench",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": json.dumps(EVIDENCE)},
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


async def _serve() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0, backlog=256)
    port = server.sockets[0].getsockname()[1]
    print(json.dumps({"address": f"http://127.0.0.1:{port}/v1"}), flush=True)
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    def wait() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(over.set)

    threading.Thread(target=wait, daemon=True).start()
    await over.wait()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while not reader.at_eof():
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length or 0))
            writer.write(HEAD % len(ANSWER) + ANSWER)
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


if __name__ == "__main__":
    asyncio.run(_serve())
