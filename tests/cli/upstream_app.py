"""An application whose stages call upstreams: `-A tests.cli.upstream_app:make`."""

import os

from holdfast import Breaker, Holdfast, JobContext, Pipeline, Upstream
from tests.cli.sample_app import URL_VARIABLE

gateway = Upstream("gateway", breaker=Breaker(consecutive=3, cooldown=30, release=60))
mail = Upstream("mail")
send = Pipeline("send")


@send.stage(calls=gateway)
def convert(job: JobContext, pdf: str) -> str:
    return pdf


@send.stage(calls=mail)
def deliver(job: JobContext, convert: str) -> str:
    return convert


def make() -> Holdfast:
    return Holdfast(os.environ[URL_VARIABLE], pipelines=[send])
