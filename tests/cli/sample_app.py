"""An application for commands to find: `-A tests.cli.sample_app:make`, or by the module alone."""

import os
import sys
import time
from pathlib import Path

from holdfast import Holdfast, JobContext, Pipeline, Retry, Wait
from holdfast.bridges.file import File
from holdfast.core.values.retry import Jitter

URL_VARIABLE = "SAMPLE_DATABASE_URL"
MAIL_VARIABLE = "SAMPLE_MAIL"

convert = Pipeline("convert", retry=Retry(attempts=3, base=60, jitter=Jitter.NONE))
review = Pipeline("review", queue="reviews")


@convert.stage
def fetch(job: JobContext, pdf: str) -> dict[str, int]:
    if pdf == "unreachable":
        raise TimeoutError("no answer from the gateway")
    return {"pages": 3}


@convert.stage
def to_xml(job: JobContext, pdf: str, fetch: dict[str, int]) -> str:
    if pdf == "broken":
        raise KeyError("pages")
    if pdf == "turns":
        return str(sys.getswitchinterval())
    if pdf.startswith("slow:"):
        Path(pdf.removeprefix("slow:")).touch()
        time.sleep(1.0)
    if pdf.startswith("endless:"):
        Path(pdf.removeprefix("endless:")).touch()
        time.sleep(600)
    return f"<{pdf} pages={fetch['pages']}/>"


@review.stage
def ask(job: JobContext) -> Wait:
    return Wait()


def make() -> Holdfast:
    mail = os.environ.get(MAIL_VARIABLE)
    providers = [] if mail is None else [File(mail, name="mail")]
    return Holdfast(os.environ[URL_VARIABLE], pipelines=[convert, review], providers=providers)
