"""The kit for testing programs that use holdfast, and holdfast itself.

    from holdfast.testing import ManualClock, Script, drain, failing, run_inline

`ManualClock` is the time of a test, `run_inline` and `drain` run jobs in the calling thread, and
`Script` and `failing` are handlers and upstreams that fail on cue. `rebuilt` is an application of a
program on the database of a test. The fixtures of the pytest plugin are made of these. Servers,
proxies and the conformance suite for stores are in modules of their own. None of it is imported by
the engine.
"""

from holdfast.testing.apps import assert_submitted, rebuilt
from holdfast.testing.clock import ManualClock
from holdfast.testing.inline import Ran, drain, run_inline
from holdfast.testing.scripted import Call, Script, failing

__all__ = [
    "Call",
    "ManualClock",
    "Ran",
    "Script",
    "assert_submitted",
    "drain",
    "failing",
    "rebuilt",
    "run_inline",
]
