"""Jobs that died, and what was done about their letters."""

from holdfast import GiveUp, JobState
from holdfast.testing import drain

NOBODY = "0190aaaa-0000-7000-8000-000000000000"
NO_AMOUNT = GiveUp("INVALID", "no amount")


def next_outcomes(script, *outcomes) -> None:
    """Let the next calls end like this, before the script goes on as it was."""
    script._outcomes = (*script._outcomes[: len(script.calls)], *outcomes)


def died(app, **options) -> str:
    job = app.submit("p", {"order": 17}, **options)
    drain(app)
    assert job.get().state is JobState.FAILED
    return job.id


def worked_through(app, letter_id) -> None:
    app.dead.triage(letter_id, cause="data", by="ada", note="the source left it out")
    app.dead.remediate(letter_id, evidence="INC-7", by="ada")


def replayed(app, letter_id, **options):
    worked_through(app, letter_id)
    return app.dead.replay(letter_id, by="ada", confirm_idempotent=True, **options)


def actions(app, letter_id) -> list[tuple[str, str, str | None]]:
    done = app.dead.show(letter_id).actions
    return [(entry.action, entry.done_by, entry.reason) for entry in reversed(done)]
