"""How many calls a gateway answers a second to as many callers as a worker has."""

import asyncio
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

CALL = b"POST /convert?mapping=text HTTP/1.1\r\nHost: gateway\r\nContent-Length: %d\r\n\r\n%s"


def capacity_of(address: str, *, callers: int, bodies: Iterator[bytes]) -> float:
    """Make the calls over connections that are kept, and return how many there were a second.

    Callers do nothing but write a call and read its answer: nobody gets more out of the gateway.
    """
    return asyncio.run(_calls_per_second(address, callers, bodies))


async def _calls_per_second(address: str, callers: int, bodies: Iterator[bytes]) -> float:
    place = urlsplit(address)
    began_s = time.perf_counter()
    made = await asyncio.gather(
        *(_call(str(place.hostname), int(place.port or 80), bodies) for _ in range(callers))
    )
    return sum(made) / (time.perf_counter() - began_s)


async def _call(host: str, port: int, bodies: Iterator[bytes]) -> int:
    reader, writer = await asyncio.open_connection(host, port)
    made = 0
    for body in bodies:
        writer.write(CALL % (len(body), body))
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.partition(b"Content-Length: ")[2].split(b"\r\n")[0]))
        made += 1
    writer.close()
    return made
