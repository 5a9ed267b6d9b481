"""As much of PostgreSQL's wire protocol as it takes to see commits pass by."""

import re
import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

SSL_REQUEST = 80_877_103
ENCRYPTION_REQUEST = 80_877_104

_LENGTH = struct.Struct("!I")
_LEADING_COMMENTS = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its type byte (empty in a startup packet), its body, and both as sent."""

    kind: bytes
    body: bytes
    raw: bytes

    @property
    def asks_for_encryption(self) -> bool:
        """Whether a client asks, before it starts, to encrypt the link."""
        if self.kind or len(self.body) != _LENGTH.size:
            return False
        return _LENGTH.unpack(self.body)[0] in (SSL_REQUEST, ENCRYPTION_REQUEST)


@dataclass(slots=True)
class MessageStream:
    """Cuts the bytes of one direction into messages.

    A client's direction begins with packets that have no type byte: `starting` until the first one
    that is not a request for encryption.
    """

    starting: bool = False
    _pending: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> Iterator[Message]:
        """Return the messages that `data` completes."""
        self._pending += data
        while (message := self._next()) is not None:
            if self.starting and not message.asks_for_encryption:
                self.starting = False
            yield message

    def rest(self) -> bytes:
        """Return the beginning of a message whose end has not come."""
        return bytes(self._pending)

    def _next(self) -> Message | None:
        kind_length = 0 if self.starting else 1
        header_length = kind_length + _LENGTH.size
        if len(self._pending) < header_length:
            return None
        # The length counts itself but not the type byte before it.
        total = kind_length + _LENGTH.unpack_from(self._pending, kind_length)[0]
        if len(self._pending) < total:
            return None
        raw = bytes(self._pending[:total])
        del self._pending[:total]
        return Message(kind=raw[:kind_length], body=raw[header_length:], raw=raw)


@dataclass(slots=True)
class Conversation:
    """What the statements on one link are, and whether they run in a transaction block.

    A client may send statements ahead of the answers: they are answered in their order, in rounds
    that end with the server's "ready", one for each simple query and for each Sync.
    """

    in_block: bool = False
    _prepared: dict[bytes, str] = field(default_factory=dict)
    _rounds: deque[list[str]] = field(default_factory=deque)
    """The statements that wait for their answers; those of the first round are answered now."""
    _is_open: bool = False
    """Whether the last round goes on until a Sync."""
    _is_done: bool = False
    """Whether the last word of the server was that a command is done."""

    @property
    def sql(self) -> str:
        """The statement that the server's next words are about."""
        return next((round_[0] for round_ in self._rounds if round_), "")

    def sent(self, message: Message) -> str | None:
        """Notes a client's message; the statement that it sets going, if it does."""
        match message.kind:
            case b"Q":
                sql = _text(message.body)
                self._rounds.append([sql])
            case b"P":
                name, text, _ = message.body.split(b"\0", 2)
                self._prepared[name] = text.decode("utf-8", "replace")
                return None
            case b"B":
                _portal, name, _ = message.body.split(b"\0", 2)
                sql = self._prepared.get(name, "")
                if not self._is_open:
                    self._rounds.append([])
                    self._is_open = True
                self._rounds[-1].append(sql)
            case b"S":
                if not self._is_open:
                    self._rounds.append([])
                self._is_open = False
                return None
            case _:
                return None
        return sql

    def begins_block(self, sql: str) -> None:
        """Notes that a statement opened a transaction block, ahead of the server's word for it."""
        if first_word(sql) in ("BEGIN", "START"):
            self.in_block = True

    def answered(self, message: Message) -> None:
        """Notes a server's message; a command that is done was the last statement's until now."""
        if self._is_done and self._rounds and len(self._rounds[0]) > 1:
            del self._rounds[0][0]
        self._is_done = message.kind == b"C"
        if message.kind == b"Z":
            self.in_block = message.body != b"I"
            if self._rounds:
                self._rounds.popleft()


def command_tag(message: Message) -> str:
    """Return the tag of a finished command, such as `COMMIT` or `INSERT 0 1`."""
    return _text(message.body)


def first_word(sql: str) -> str:
    """Return the keyword that a statement begins with, in capitals; comments do not count."""
    start = _LEADING_COMMENTS.match(sql)
    word = _WORD.match(sql, start.end() if start else 0)
    return word.group().upper() if word else ""


def does(sql: str, keyword: str) -> bool:
    """Whether running `sql` ends, as far as its text tells, with the command tag `keyword`."""
    if keyword == "COMMIT":
        return any(first_word(part) in ("COMMIT", "END") for part in sql.split(";"))
    first = first_word(sql)
    if first == "WITH":
        return re.search(rf"\b{re.escape(keyword)}\b", sql, re.IGNORECASE) is not None
    return first == keyword


def _text(body: bytes) -> str:
    return body.split(b"\0", 1)[0].decode("utf-8", "replace")
