"""Brokers: aio-pika with its aiormq, pika, and kombu with its amqp.

Reply codes of AMQP look like HTTP statuses and are none: 406 is a queue declared differently.
Authentication errors of aiormq are `ConnectionError`s, so that they come before those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from holdfast.classify.facts.http import read
from holdfast.classify.rule import Rule, Verdict, named
from holdfast.classify.verdicts import (
    AUTH,
    CONFLICT,
    MISCONFIGURED,
    NETWORK,
    NOT_FOUND,
    SATURATED,
    UPSTREAM,
)
from holdfast.core.values.instant import Instant

_REFUSED: Final = replace(UPSTREAM, outcome_known=True, blames_upstream=False)
"""The broker answered that it did not take the message."""

_BY_REPLY_CODE: Final[Mapping[int, Verdict]] = {
    311: MISCONFIGURED,  # content too large
    312: MISCONFIGURED,  # no route
    313: MISCONFIGURED,  # no consumers
    320: NETWORK,  # connection forced: an operator closes it, or the broker stops
    402: AUTH,  # invalid path: no such virtual host
    403: AUTH,
    404: NOT_FOUND,
    405: CONFLICT,  # resource locked
    406: MISCONFIGURED,  # precondition failed: other arguments than the queue has
    506: _REFUSED,  # resource error: an alarm of memory or disk
    530: AUTH,  # not allowed
    541: UPSTREAM,
}

_HUNG_UP: Final = "Server unexpectedly closed connection"


def _verdict_of_reply(error: BaseException, _now: Instant) -> Verdict | None:
    code = read(error, ("reply_code",))
    return _BY_REPLY_CODE.get(code, MISCONFIGURED) if type(code) is int and code else None


def _verdict_of_hang_up(error: OSError, _now: Instant) -> Verdict | None:
    """Return the library below kombu has no class for this, and gives it no number either."""
    return NETWORK if error.errno is None and str(error) == _HUNG_UP else None


def _row(match: tuple[str, ...], verdict: Verdict) -> Rule:
    return Rule(match, verdict, speaks_http=False)


AMQP: Final[tuple[Rule, ...]] = (
    _row(named("aiormq pika", "ProbableAuthenticationError AuthenticationError"), AUTH),
    _row(named("pika", "ProbableAccessDeniedError"), AUTH),
    _row(named("aiormq", "ConnectionNotAllowed ChannelAccessRefused"), AUTH),
    _row(named("aiormq", "ChannelNotFoundEntity"), NOT_FOUND),
    _row(named("aiormq", "ChannelLockedResource"), CONFLICT),
    _row(
        named("aiormq", "ChannelPreconditionFailed PublishError DuplicateConsumerTag"),
        MISCONFIGURED,
    ),
    _row(named("aiormq", "DeliveryError") + named("pika", "NackError"), _REFUSED),
    _row(named("amqp", "MessageNacked"), _REFUSED),
    _row(named("pika", "UnroutableError"), MISCONFIGURED),
    _row(named("aiormq pika", "IncompatibleProtocolError ProtocolSyntaxError"), MISCONFIGURED),
    Rule(
        named("pika", "ConnectionClosed ChannelClosed") + named("amqp", "AMQPError"),
        _verdict_of_reply,
        speaks_http=False,
    ),
    _row(named("aiormq pika", "AMQPConnectionError"), NETWORK),
    # A channel that was closed because its connection was.
    _row(named("aiormq", "ChannelInvalidStateError"), NETWORK),
    _row(named("pika", "ChannelWrongStateError"), NETWORK),
    _row(named("amqp", "ConnectionError RecoverableChannelError"), NETWORK),
    Rule(OSError, _verdict_of_hang_up),
    # It wraps lost and unmade connections only; refusals come through as they are.
    _row(named("kombu", "OperationalError"), NETWORK),
    _row(named("kombu", "LimitExceeded"), SATURATED),
)
