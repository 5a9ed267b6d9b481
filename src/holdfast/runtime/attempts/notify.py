"""What a handler returns when its stage is done once recipients have been notified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from holdfast.core.delivery.delivery import Asked, AskedOf
from holdfast.core.values.document import encode
from holdfast.errors import InvalidValue

MAX_NAME_LENGTH: Final = 255
MAX_RECIPIENTS: Final = 1_000
MAX_VERSION: Final = 2_147_483_647
LONGEST_WAIT_S: Final = 10 * 365 * 86_400


class Recipient(NamedTuple):
    """A recipient: an address, and what is special about it.

    One that is not `required` is notified as well, but nothing waits for it. `message` is for this
    recipient alone, in place of the common one.
    """

    address: str
    required: bool = True
    message: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """Returned by a handler whose stage is done once every required recipient has been notified.

    There is one delivery per subject, recipient and version, however often the stage runs: a
    recipient is not notified again. `version` is the job's own unless given. `provider`
    is the name of one; it can be left out where there is only one. `message` is frozen here: what
    a provider needs, but for the recipient. After `timeout` seconds the attempt has failed, and
    what is on its way goes on.
    """

    subject: str
    recipients: Sequence[str | Recipient]
    message: Mapping[str, Any] = field(default_factory=dict)
    version: int | None = None
    provider: str | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None and not 0 < self.timeout <= LONGEST_WAIT_S:
            raise _invalid("timeout", self.timeout, "over 0 and up to ten years")
        self.asked(1)

    def asked(self, version: int) -> Asked:
        """Return what is asked; `version` counts where none was given."""
        return asked_of(
            subject=self.subject,
            version=version if self.version is None else self.version,
            provider=self.provider,
            recipients=self.recipients,
            message=self.message,
        )


def asked_of(
    *,
    subject: str,
    version: int,
    provider: str | None,
    recipients: Sequence[str | Recipient],
    message: Mapping[str, Any],
) -> Asked:
    """Return what is asked of a courier, checked, or raise `InvalidValue` naming the field."""
    if isinstance(recipients, str) or not 1 <= len(recipients) <= MAX_RECIPIENTS:
        raise _invalid("recipients", recipients, f"a list of 1 to {MAX_RECIPIENTS}")
    if isinstance(version, bool) or type(version) is not int or not 1 <= version <= MAX_VERSION:
        raise _invalid("version", version, f"a whole number from 1 to {MAX_VERSION}")
    common = _frozen(message)
    wanted: dict[str, AskedOf] = {}
    for each in recipients:
        one = Recipient(each) if isinstance(each, str) else each
        address = _text("recipient", one.address)
        text = common if one.message is None else _frozen(one.message)
        asked = AskedOf(address, text, bool(one.required))
        if wanted.setdefault(address, asked) != asked:
            raise _invalid("recipients", address, "named once, or always in the same way")
    return Asked(
        _text("subject", subject),
        version,
        None if provider is None else _text("provider", provider),
        tuple(wanted.values()),
    )


def _frozen(message: object) -> str:
    if not isinstance(message, Mapping):
        raise _invalid("message", type(message).__name__, "an object of names and values")
    return encode(dict(message), what="message")


def _text(name: str, text: object) -> str:
    if not isinstance(text, str) or not text.isprintable() or not 1 <= len(text) <= MAX_NAME_LENGTH:
        raise _invalid(name, text, f"1 to {MAX_NAME_LENGTH} printable characters")
    return text


def _invalid(name: str, value: object, limit: str) -> InvalidValue:
    return InvalidValue("notify", field=name, value=value, limit=limit)
