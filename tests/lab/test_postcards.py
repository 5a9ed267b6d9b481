"""The demo system: cards are drawn, printed and posted, and what cannot be is a dead letter."""

import pytest

from holdfast import Holdfast, JobFilter, JobState
from holdfast.lab import postcards
from holdfast.lab.behaviour import Behaviour
from holdfast.lab.stand_ins import StandIns
from holdfast.systems import build
from holdfast.testing.inline import run_inline


@pytest.fixture
def stand_ins():
    with StandIns([postcards.SYSTEM], {}) as made:
        yield made


@pytest.fixture
def app(stand_ins, database_url):
    environment: dict[str, str] = {}
    stand_ins.tell(environment)
    (built,) = build([postcards.SYSTEM], environment)
    with Holdfast(database_url, pipelines=built.parts.pipelines) as made:
        yield made


def test_a_card_is_drawn_printed_and_posted(app):
    (submitted,) = app.submit_many(postcards.PIPELINE, postcards.cards(1))

    run_inline(app)

    view = app.job(submitted.job_id)
    assert view.state is JobState.COMPLETE
    assert view.result["letter"].startswith("HF-")
    assert set(app.results(view.id)) == {"draw", "print", "post"}


def test_a_card_to_nobody_fails_for_good_whatever_the_upstreams_are_like(app):
    app.submit_many(postcards.PIPELINE, [postcards.unprintable()])

    run_inline(app)

    (view,) = app.jobs(JobFilter(states=(JobState.FAILED,)))
    assert (view.job.stage, view.error["http_status"]) == ("print", 422)


def test_a_printer_that_fails_is_tried_again(app, stand_ins):
    stand_ins.behave(postcards.PRINTER, Behaviour.FAILING)
    (submitted,) = app.submit_many(postcards.PIPELINE, postcards.cards(1))

    run_inline(app)

    view = app.job(submitted.job_id)
    assert (view.label, view.job.stage) == ("retrying", "print")
