"""The kit for testing programs that use holdfast, and holdfast itself.

    from holdfast.testing import ManualClock, Script, drain, failing, run_inline

`ManualClock` is the time of a test, `run_inline` and `drain` run jobs in the calling thread, and
`Script` and `failing` are handlers and upstreams that fail on cue. Servers, proxies and the
conformance suite for stores are in modules of their own. None of it is imported by the engine.
"""

from holdfast.testing.clock import ManualClock
from holdfast.testing.inline import Ran, drain, run_inline
from holdfast.testing.scripted import Call, Script, failing

__all__ = ["Call", "ManualClock", "Ran", "Script", "drain", "failing", "run_inline"]
