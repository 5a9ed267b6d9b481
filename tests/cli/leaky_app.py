"""An application whose handlers say all they know: `-A tests.cli.leaky_app:make`."""

import os

from holdfast import GiveUp, Holdfast, JobContext, Pipeline, Retry, RetryLater
from tests.cli.sample_app import URL_VARIABLE

GIVEN = "Jw5-given-by-the-program-6Kc"

leak = Pipeline("leak", retry=Retry(attempts=2, base=0, jitter="none"))


def secrets() -> str:
    return f"{os.environ['LEAKY_LOGIN']} {os.environ['LEAKY_API_KEY']} {GIVEN}"


@leak.stage
def in_a_thread(job: JobContext, how: str) -> str:
    said = f"{secrets()} password=hunter2-Xk"
    job.log.warning("calling with %s", said, extra={"authorization": "hunter2-Xk"})
    match how:
        case "raise":
            raise TimeoutError(f"no answer for {said}")
        case "give up":
            raise GiveUp("REFUSED", f"refused {said}")
        case "later" if job.attempt == 1 and not job.payload.get("postponed"):
            raise RetryLater(after=3600, reason=f"not yet {said}")
        case "return":
            return f"{said}\0"
        case _:
            return "ok"


@leak.stage(runs="process")
def in_a_process(job: JobContext, how: str) -> str:
    raise ValueError(f"bad key {secrets()}") from KeyError(secrets())


def make() -> Holdfast:
    return Holdfast(os.environ[URL_VARIABLE], pipelines=[leak], secrets=[GIVEN])
