"""The upstream whose breaker guards the calls to a provider."""

from __future__ import annotations

from typing import Protocol

from holdfast.runtime.kernel.stage import UpstreamTerms


class Guarded(Protocol):
    """A `holdfast.Upstream`, as far as a provider carries it."""

    def terms(self) -> UpstreamTerms:
        """Return the policies of calling it."""
        ...
