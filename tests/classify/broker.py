"""As much of an AMQP 0-9-1 broker as it takes to refuse things the way RabbitMQ does."""

import struct
from dataclasses import dataclass

from pamqp import commands as amqp
from pamqp import frame
from pamqp.body import ContentBody
from pamqp.header import ContentHeader

from tests.classify.servers import Connection

_HEADER = struct.Struct(">BHI")
_CAPABILITIES = {
    "authentication_failure_close": True,
    "basic.nack": True,
    "publisher_confirms": True,
    "connection.blocked": True,
}

_SIMPLE_ANSWERS = {
    amqp.Connection.Open: amqp.Connection.OpenOk,
    amqp.Connection.Close: amqp.Connection.CloseOk,
    amqp.Channel.Open: amqp.Channel.OpenOk,
    amqp.Channel.Close: amqp.Channel.CloseOk,
    amqp.Confirm.Select: amqp.Confirm.SelectOk,
}

DROP = "drop the connection"
RETURN = "return the message"
NACK = "refuse the message"
ACK = "take the message"


@dataclass
class Broker:
    """Serves one connection; each step may be refused with a reply code, or by hanging up."""

    login: int | str | None = None
    vhost: int | None = None
    declare: int | str | None = None
    publish: str = ACK
    closes_connection: bool = False
    """Whether a refused declaration costs the connection, not only the channel."""

    def __call__(self, connection: Connection) -> None:
        if connection.read_exactly(8) != b"AMQP\0\0\x09\x01":
            return
        self._send(
            connection,
            0,
            amqp.Connection.Start(
                server_properties={"product": "Broker", "capabilities": _CAPABILITIES},
                mechanisms="PLAIN AMQPLAIN",
                locales="en_US",
            ),
        )
        published: list[object] = []
        while head := connection.read_exactly(_HEADER.size):
            _, channel, size = _HEADER.unpack(head)
            _, _, found = frame.unmarshal(head + connection.read_exactly(size + 1))
            if isinstance(found, amqp.Basic.Publish | ContentHeader):
                published.append(found)
            elif isinstance(found, ContentBody):
                if self.publish == DROP:
                    return
                self._settle(connection, channel, [*published, found])
            elif self._step(found) == DROP:
                return
            else:
                self._answer(connection, channel, found)

    def _step(self, method) -> int | str | None:
        """What the test wants to happen at the step that a method is."""
        match method:
            case amqp.Connection.StartOk():
                return self.login
            case amqp.Queue.Declare():
                return self.declare
        return None

    def _answer(self, connection, channel, method) -> None:
        match method:
            case amqp.Connection.StartOk() if self.login is not None:
                self._send(connection, 0, self._close(amqp.Connection.Close, self.login))
            case amqp.Connection.StartOk():
                self._send(connection, 0, amqp.Connection.Tune(2_047, 131_072, 0))
            case amqp.Connection.Open() if self.vhost is not None:
                self._send(connection, 0, self._close(amqp.Connection.Close, self.vhost))
            case amqp.Queue.Declare() if self.declare is not None:
                self._refuse(connection, channel, self.declare)
            case amqp.Queue.Declare(queue=queue):
                self._send(connection, channel, amqp.Queue.DeclareOk(queue, 0, 0))
            case _ if type(method) in _SIMPLE_ANSWERS:
                self._send(connection, channel, _SIMPLE_ANSWERS[type(method)]())

    def _settle(self, connection, channel, published) -> None:
        method, header, body = published
        if self.publish == RETURN:
            returned = amqp.Basic.Return(312, "NO_ROUTE", method.exchange, method.routing_key)
            for each in (returned, header, body):
                self._send(connection, channel, each)
        if self.publish == NACK:
            self._send(connection, channel, amqp.Basic.Nack(1))
        else:
            self._send(connection, channel, amqp.Basic.Ack(1))

    def _refuse(self, connection, channel, code) -> None:
        if self.closes_connection:
            self._send(connection, 0, self._close(amqp.Connection.Close, code))
        else:
            self._send(connection, channel, self._close(amqp.Channel.Close, code))

    def _close(self, kind, code):
        return kind(reply_code=code, reply_text="REFUSED on purpose", class_id=0, method_id=0)

    def _send(self, connection, channel, method) -> None:
        connection.send(frame.marshal(method, channel))
