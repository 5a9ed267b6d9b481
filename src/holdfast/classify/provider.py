"""What providers of deliveries raise when an answer, rather than its transport, is the failure.

Only the code of a provider knows what its answers mean, so the exception brings its verdict with
it. Input that holdfast itself refuses was never sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from holdfast.classify.rule import Rule, Verdict
from holdfast.classify.verdicts import INVALID, QUOTA
from holdfast.core.values.instant import Instant
from holdfast.core.values.quota import Window
from holdfast.errors import InvalidDocument, InvalidValue


class ProviderError(Exception):
    """A provider did not take a message, or nobody knows whether it did; `verdict` says which.

    `status_code` and `headers` are those of an HTTP answer, where there was one; a Retry-After
    among them is heeded.
    """

    def __init__(
        self,
        verdict: Verdict,
        message: str,
        *,
        status_code: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.verdict, self.status_code = verdict, status_code
        self.headers = dict(headers or {})
        super().__init__(message)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _revived, (type(self), self.verdict, str(self), self.status_code, self.headers)


def _revived(
    kind: type[ProviderError],
    verdict: Verdict,
    message: str,
    status_code: int | None,
    headers: dict[str, str],
) -> ProviderError:
    return kind(verdict, message, status_code=status_code, headers=headers)


class QuotaExceeded(ProviderError):
    """A provider takes no more messages until its quota is renewed: nothing was accepted.

    `window` says what the quota is counted by. The message is sent again when the window ends, or
    after a Retry-After among `headers` that is longer; no attempt is spent.
    """

    def __init__(
        self,
        message: str,
        *,
        window: Window,
        status_code: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.window = window
        super().__init__(QUOTA, message, status_code=status_code, headers=headers)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _quota_revived, (str(self), self.window, self.status_code, self.headers)


def _quota_revived(
    message: str, window: Window, status_code: int | None, headers: dict[str, str]
) -> QuotaExceeded:
    return QuotaExceeded(message, window=window, status_code=status_code, headers=headers)


def _verdict_of_itself(error: ProviderError, _now: Instant) -> Verdict:
    return error.verdict


PROVIDER: Final[tuple[Rule, ...]] = (
    Rule(ProviderError, _verdict_of_itself),
    Rule((InvalidValue, InvalidDocument), INVALID),
)
