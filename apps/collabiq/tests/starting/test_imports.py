"""What importing the system costs: none of the four SDKs, which take longer than all the rest."""

import sys

from tests.warm.process import run

SDKS = ("google.genai", "googleapiclient", "google.auth", "notion_client", "infisical_sdk", "boto3")


def test_importing_the_system_loads_none_of_the_four_sdks():
    code = f"import sys, collabiq.system; print([m for m in {SDKS!r} if m in sys.modules])"

    ended = run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)

    assert ended.stdout.strip() == "[]", ended.stderr
