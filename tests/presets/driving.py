"""Policies of presets driven by hand: delay by delay, call by call."""

from holdfast.core.upstream.breaker import (
    Observed,
    PermitsAsked,
    TrialEnded,
    admission,
    decide_breaker,
)
from holdfast.core.upstream.upstream import UpstreamState
from holdfast.core.values.instant import SECOND_US

NOW = 1_445_412_480_000_000
ALMOST_ONE = 1 - 2**-53


def delays(policy, roll, failures=range(1, 10), retry_after=None):
    retry_after_us = None if retry_after is None else retry_after * 1_000_000
    return [
        policy.delay_us(failures=n, roll=roll, retry_after_us=retry_after_us) / 1_000_000
        for n in failures
    ]


def retries(policy):
    """The failure counts after which the policy still tries again."""
    return range(1, policy.attempts)


class Drive:
    """A breaker driven call by call, by one worker of a fleet."""

    def __init__(self, policy, *, fleet=1):
        self.policy = policy
        self.fleet = fleet
        self.now = NOW
        self.upstream = UpstreamState("gateway")

    @property
    def gate(self):
        return self.upstream.gate.value

    @property
    def admits(self):
        return admission(self.upstream, self.policy, self.now).admits

    def meet(self, event):
        decided = decide_breaker(self.upstream, event, self.policy, self.now)
        self.upstream = self.upstream if decided is None else decided
        return decided is not None

    def calls(self, how, *, worker="w"):
        """Tell how calls ended, one by one: `.` was fine, `x` failed."""
        for each in how:
            run = (1, 0) if each == "." else (0, 1)
            self.meet(Observed(worker, self.upstream.generation, (run,), self.fleet))
        return self.gate

    def begin_trials(self, wanted):
        self.meet(PermitsAsked("w", wanted))
        return len(self.upstream.permits)

    def end_trial(self, *, fine):
        upstream = self.upstream
        self.meet(TrialEnded(upstream.generation, upstream.permits[0].number, fine))
        return self.gate

    def wait(self, seconds):
        self.now += int(seconds * SECOND_US)
        return self.admits
