"""Processes that commands have to themselves; in new interpreters, because it lasts."""

import subprocess
import sys

SETTLED = """
import gc, sys
from holdfast.redaction.patterns.tokens import shapes
from holdfast.runtime.kernel.process_tuning import TURN_S, YOUNG, tune_process

tune_process()
print(gc.get_freeze_count() > 0, gc.get_threshold()[0] == YOUNG)
print(sys.getswitchinterval() == TURN_S, shapes.cache_info().currsize)
"""


def test_a_worker_of_its_own_is_ready_for_failures_before_the_first_comes():
    told = subprocess.run(
        [sys.executable, "-c", SETTLED], capture_output=True, text=True, check=True, timeout=30
    )

    assert told.stdout.split() == ["True", "True", "True", "1"]
