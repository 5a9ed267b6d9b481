"""`grading`: hand in, follow, grade offline, and look after the two sides from a terminal."""

from __future__ import annotations

import click

from grading.cli.broker import callback, service, topology
from grading.cli.dlq import dlq
from grading.cli.doctor import doctor
from grading.cli.offline import calibrate, grade, transcribe
from grading.cli.submissions import cancel, list_, questions, retry, status, submit, watch

_EPILOG = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage or settings, 3 not found, 4 refused, "
    "5 a service cannot be reached, 6 something needs a person."
)


@click.group(epilog=_EPILOG)
@click.version_option(package_name="holdfast-grading", prog_name="grading")
def main() -> None:
    """Grade essays and recordings: never lose one, never pay twice.

    Submissions are kept in DATABASE_URL; `grading grade FILE` needs no server and no database.
    """


for command in (
    submit,
    status,
    watch,
    list_,
    questions,
    cancel,
    retry,
    grade,
    transcribe,
    calibrate,
    dlq,
    service,
    topology,
    callback,
    doctor,
):
    main.add_command(command)
