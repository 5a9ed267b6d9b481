"""From the gateway's name to its addresses, all of which are looked at before one is used."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any, TypeAlias

from converter.gateway_address import admit

Place: TypeAlias = tuple[int, tuple[Any, ...]]
"""The family of an address, and the address as a socket takes it."""


def resolved(host: str, port: int) -> asyncio.Future[list[Place]]:
    """Return the addresses of a host to come; raises `AddressRefused` where no gateway can be.

    A name is asked for in a thread, which may be left behind: the resolver takes no limit.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[Place]] = loop.create_future()
    host = host.strip("[]")
    try:
        _settle(answer, _admitted(_asked(host, port, socket.AI_NUMERICHOST)), None)
    except socket.gaierror:
        threading.Thread(
            target=_ask, args=(host, port, loop, answer), name="converter-resolve", daemon=True
        ).start()
    except OSError as refused:
        _settle(answer, None, refused)
    return answer


def _ask(
    host: str,
    port: int,
    loop: asyncio.AbstractEventLoop,
    answer: asyncio.Future[list[Place]],
) -> None:
    found: list[Place] | None = None
    refused: OSError | None = None
    try:
        found = _admitted(_asked(host, port, 0))
    except OSError as error:
        refused = error
    try:
        loop.call_soon_threadsafe(_settle, answer, found, refused)
    except RuntimeError:
        return  # the loop has ended, and the caller with it


def _settle(
    answer: asyncio.Future[list[Place]], found: list[Place] | None, refused: OSError | None
) -> None:
    if answer.done():
        return
    if refused is not None:
        answer.set_exception(refused)
    else:
        answer.set_result(found or [])


def _asked(host: str, port: int, flags: int) -> list[Place]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    except UnicodeError as error:
        raise socket.gaierror(socket.EAI_NONAME, "not a name that can exist") from error
    return [(family, address) for family, _, _, _, address in found]


def _admitted(places: list[Place]) -> list[Place]:
    for _, address in places:
        admit(str(address[0]))
    return places
