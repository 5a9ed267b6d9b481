"""A TCP proxy in front of PostgreSQL that loses connections, and replies to COMMIT, on demand.

    with PostgresProxy(server_url) as proxy, psycopg.connect(proxy.url) as connection:
        lost = proxy.drop_commit_reply()
        connection.execute("insert into account values (1)")
        connection.commit()  # raises OperationalError, although the row is there

It listens on loopback only. Every method has taken effect when it returns. What is said of links
holds for those that are open and those to come, until `pass_through`.
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from psycopg.conninfo import conninfo_to_dict

from holdfast.errors import InvalidValue
from holdfast.testing.servers.ports import LOOPBACK, free_port
from holdfast.testing.servers.proxy_link import (
    CommitTrap,
    CutAfter,
    Direction,
    Faults,
    Link,
    LostReplies,
)

_DEFAULT_SERVER_PORT = 5432
_CALL_LIMIT_S = 10.0
_OWN_PARAMETERS = ("host", "hostaddr", "port", "sslmode", "gssencmode")

_Answer = TypeVar("_Answer")


class PostgresProxy:
    """Stands between clients and the server of `server_url`, with a URL of its own."""

    def __init__(self, server_url: str) -> None:
        self._server_url = server_url
        self._port = free_port()
        self._loop = asyncio.new_event_loop()
        self._faults = Faults()
        self._faults.clear()
        self._tasks: dict[asyncio.Task[None], Link | None] = {}
        self._listener: socket.socket | None = None
        self._defect: Exception | None = None
        self._thread = threading.Thread(target=self._run_loop, name="postgres-proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._do(self._listen)
        except BaseException:
            self._end_loop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._call(self._close)
        self._end_loop()
        if self._defect is not None:
            raise self._defect

    @property
    def url(self) -> str:
        """The URL for clients: the server's, but by way of the proxy and without encryption."""
        parts = urlsplit(self._server_url)
        login, at, _ = parts.netloc.rpartition("@")
        kept = [pair for pair in parse_qsl(parts.query) if pair[0] not in _OWN_PARAMETERS]
        query = urlencode([*kept, ("sslmode", "disable"), ("gssencmode", "disable")])
        return urlunsplit(parts._replace(netloc=f"{login}{at}{LOOPBACK}:{self._port}", query=query))

    @property
    def port(self) -> int:
        """The proxy's loopback port."""
        return self._port

    @property
    def link_count(self) -> int:
        """How many links are open now."""
        return self._do(lambda: len(self._links()))

    def pass_through(self) -> None:
        """Takes every fault back: what was held flows, and new links are welcome."""
        self._do(self._faults.clear)
        self._do(self._listen)

    def cut(self) -> None:
        """Closes the open links, towards both sides."""
        self._do(self._cut_links)

    def rst(self) -> None:
        """Resets the open links, as a machine that lost its memory would."""
        self._do(lambda: self._cut_links(reset=True))

    def black_hole(self) -> None:
        """Passes nothing on in either direction, not even that a side has closed."""
        self._do(self._faults.flowing.clear)

    def delay(self, milliseconds: float) -> None:
        """Holds each piece of data back that long."""
        _check("delay", milliseconds=milliseconds, at_least=0)
        self._do(lambda: setattr(self._faults, "delay_s", milliseconds / 1000))

    def slice(self, size_bytes: int) -> None:
        """Passes data on in pieces of at most that size."""
        _check("slice", size_bytes=size_bytes, at_least=1)
        self._do(lambda: setattr(self._faults, "slice_bytes", size_bytes))

    def cut_after(self, size_bytes: int, *, direction: Direction = "to_client") -> None:
        """Passes on that much more in `direction`, all links together, then cuts the last one."""
        _check("cut_after", size_bytes=size_bytes, at_least=1)
        limit = CutAfter(direction=direction, remaining_bytes=size_bytes)
        self._do(lambda: setattr(self._faults, "cut_after", limit))

    def refuse(self) -> None:
        """Closes the open links and refuses new ones."""
        self._do(self._close_listener)
        self._do(self._cut_links)

    def drop_commit_reply(
        self,
        *,
        times: int = 1,
        forward: bool = True,
        tags: tuple[str, ...] = ("COMMIT",),
        containing: str = "",
    ) -> LostReplies:
        """Cuts the link in the middle of each of the next `times` commits.

        With `forward` the server commits and the client never hears of it. Without, the commit
        never reaches the server, which rolls back. The client cannot tell one from the other.

        COMMIT among the `tags` means the end of a transaction; others, such as UPDATE or SELECT,
        mean statements that commit by themselves because no transaction is open. `containing`
        narrows it to links whose last statement has that text, which is guesswork once statements
        are pipelined.
        """
        _check("drop_commit_reply", times=times, at_least=1)
        trap = CommitTrap(
            forward=forward, tags=tags, containing=containing, losses=LostReplies(times=times)
        )
        self._do(lambda: self._faults.traps.append(trap))
        return trap.losses

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CALL_LIMIT_S)
        self._loop.close()

    def _call(self, action: Callable[[], Coroutine[None, None, _Answer]]) -> _Answer:
        """Runs `action` on the proxy's loop and waits for its answer."""
        return asyncio.run_coroutine_threadsafe(action(), self._loop).result(_CALL_LIMIT_S)

    def _do(self, action: Callable[[], _Answer]) -> _Answer:
        async def act() -> _Answer:
            return action()

        return self._call(act)

    def _listen(self) -> None:
        # Not `asyncio.start_server`: closed between accepting a connection and handing it over,
        # that of Python 3.11 leaves the connection open.
        if self._listener is None:
            self._listener = socket.create_server((LOOPBACK, self._port))
            self._listener.settimeout(0)
            self._loop.add_reader(self._listener, self._accept, self._listener)

    def _close_listener(self) -> None:
        if self._listener is not None:
            self._loop.remove_reader(self._listener)
            self._listener.close()
            self._listener = None

    async def _close(self) -> None:
        self._close_listener()
        self._faults.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _links(self) -> list[Link]:
        return [link for link in self._tasks.values() if link is not None and link.is_open]

    def _cut_links(self, *, reset: bool = False) -> None:
        for link in self._links():
            link.cut(reset=reset)

    def _accept(self, listener: socket.socket) -> None:
        try:
            client, _ = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return  # it has gone again
        task = self._loop.create_task(self._serve(client))
        self._tasks[task] = None

        def ended(task: asyncio.Task[None]) -> None:
            # Not in `_serve`: a task that is cancelled before its first step runs none of it.
            client.close()
            del self._tasks[task]

        task.add_done_callback(ended)

    async def _serve(self, client: socket.socket) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("no current task")
        client.settimeout(0)
        reader, writer = await asyncio.open_connection(sock=client)
        try:
            await self._faults.flowing.wait()
            server_reader, server_writer = await self._connect()
            link = self._tasks[task] = Link(
                client_reader=reader,
                client=writer,
                server_reader=server_reader,
                server=server_writer,
                faults=self._faults,
            )
            await link.run()
        except OSError:
            pass  # the server is down, and the client learns it as it would without the proxy
        except Exception as error:  # noqa: BLE001 - raised at the end, in the thread that can tell
            self._defect = error
        finally:
            writer.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        target = conninfo_to_dict(self._server_url)
        host = str(target.get("hostaddr") or target.get("host") or LOOPBACK)
        port = int(target.get("port") or _DEFAULT_SERVER_PORT)
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, port)


def _check(method: str, *, at_least: float, **arguments: float) -> None:
    for name, value in arguments.items():
        if value < at_least:
            raise InvalidValue(method, field=name, value=value, limit=f"{at_least} or more")
