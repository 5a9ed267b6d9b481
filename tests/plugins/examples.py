"""How many examples the tests of properties try: some in every run, all in the slow one.

A test that wants more or fewer than others says so as a multiple of `settings().max_examples`.
"""

import os

from hypothesis import HealthCheck, settings

VARIABLE = "HOLDFAST_TEST_EXAMPLES"
IN_EVERY_RUN = 20

# Examples cross a database in places, so one may take long; a run in CI repeats exactly.
settings.register_profile(
    "local",
    max_examples=int(os.environ.get(VARIABLE, IN_EVERY_RUN)),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("ci", settings.get_profile("local"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "local")
