"""Submits the same keys as other processes do: `submitting.py URL NAME`, at the word go."""

import json
import sys

from holdfast import Holdfast
from holdfast.errors import KeyConflict
from tests.crash import program

KEYS = 25


def main(url: str, name: str) -> None:
    with Holdfast(url, pipelines=program.PIPELINES.values()) as app:
        print("ready", flush=True)
        sys.stdin.readline()
        made = {}
        for number in range(KEYS):
            handle = app.submit("noop", {"n": number}, key=f"same-{number}")
            made[f"same-{number}"] = (handle.id, handle.created)
            try:
                handle = app.submit("noop", {"by": name}, key=f"other-{number}")
                made[f"other-{number}"] = (handle.id, handle.created)
            except KeyConflict as conflict:
                made[f"other-{number}"] = (conflict.job_id, False)
        print(json.dumps(made), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
