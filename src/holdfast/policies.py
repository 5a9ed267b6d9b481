"""The kinds that policies of calls and retries choose from.

Public names only, defined elsewhere: a program imports them from here.
"""

from holdfast.core.upstream.breaker_policy import BreakerMode
from holdfast.core.values.retry import Jitter

__all__ = ["BreakerMode", "Jitter"]
