"""Replays a dead letter as other processes do: `replaying.py URL ID NAME`, at the word go."""

import sys

from holdfast import ConflictError, Holdfast
from tests.crash import program


def main(url: str, letter_id: str, name: str) -> None:
    with Holdfast(url, pipelines=program.PIPELINES.values()) as app:
        app.dead.get(letter_id)
        print("ready", flush=True)
        sys.stdin.readline()
        try:
            app.dead.replay(letter_id, by=name, confirm_idempotent=True)
            print("sent back", flush=True)
        except ConflictError as error:
            print(type(error).__name__, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
