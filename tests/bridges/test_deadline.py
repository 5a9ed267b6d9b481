"""One limit for a whole call, the name and every address of the host included."""

import socket
import threading
import time

import pytest

from holdfast.bridges.calls.deadline import Deadline, connect
from tests.classify.servers import LOOPBACK, UNKNOWN_HOST, Server, unused_port

NAME = "mail.example.org"


def resolving_to(*ports: int):
    """A resolver for which the name stands for these ports of this machine."""

    def resolve(host, port, *, type, flags):  # noqa: A002 - as it is called
        if flags:
            raise socket.gaierror(socket.EAI_NONAME, "a name")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (LOOPBACK, each)) for each in ports]

    return resolve


def test_a_resolver_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch):
    over = threading.Event()

    def hang(host, port, *, type, flags):  # noqa: A002 - as it is called
        if flags:
            raise socket.gaierror(socket.EAI_NONAME, "a name")
        over.wait(10)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    began_s = time.monotonic()

    with pytest.raises(TimeoutError):
        connect(NAME, 25, deadline=Deadline(0.2))

    assert time.monotonic() - began_s < 5
    over.set()


def test_the_next_address_is_tried_when_one_refuses(monkeypatch: pytest.MonkeyPatch):
    with Server(lambda _: None) as server:
        monkeypatch.setattr(socket, "getaddrinfo", resolving_to(unused_port(), server.port))

        with connect(NAME, 25, deadline=Deadline(2)) as connection:
            assert connection.getpeername()[1] == server.port


def test_the_last_refusal_is_told_when_every_address_refuses(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(socket, "getaddrinfo", resolving_to(unused_port(), unused_port()))

    with pytest.raises(ConnectionRefusedError):
        connect(NAME, 25, deadline=Deadline(2))


def test_a_name_that_cannot_exist_is_one_that_is_not_found():
    with pytest.raises(socket.gaierror):
        connect(UNKNOWN_HOST, 25, deadline=Deadline(2))


def test_addresses_are_shown_before_anything_is_connected_to(monkeypatch: pytest.MonkeyPatch):
    shown: list[str] = []

    def admit(addresses: list[str]) -> None:
        shown.extend(addresses)
        raise PermissionError

    with Server(lambda _: None) as server:
        monkeypatch.setattr(socket, "getaddrinfo", resolving_to(server.port))
        with pytest.raises(PermissionError):
            connect(NAME, 25, deadline=Deadline(2), admit=admit)

        assert server.connections == 0
    assert shown == [LOOPBACK]


def test_time_that_is_up_stays_up():
    deadline = Deadline(0.01)
    time.sleep(0.02)

    with pytest.raises(TimeoutError):
        deadline.left_s()
