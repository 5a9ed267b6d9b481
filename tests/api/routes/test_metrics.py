"""`/metrics` of the API: for everybody, with the fleet's figures and the process's own."""

from holdfast import Pipeline
from holdfast.testing import drain


def test_everybody_may_read_the_figures_of_fleet_and_process(app, serve):
    app.tokens.create("ops", role="operator", by="ada")
    with serve(app) as client:
        app.submit("p")
        drain(app)
        app.activity(since=60)
        both = client.get("/metrics")
        own = client.get("/metrics/process")

    assert both.status_code == own.status_code == 200
    assert "holdfast_store_up 1.0" in both.text
    assert "holdfast_build_info" in both.text
    assert "holdfast_store_up" not in own.text
    assert 'holdfast_attempt_duration_seconds_count{outcome="completed"' in own.text


def test_it_is_told_in_the_form_that_is_asked_for(app, serve):
    with serve(app) as client:
        answer = client.get("/metrics", headers={"accept": "application/openmetrics-text"})

    assert answer.headers["content-type"].startswith("application/openmetrics-text")


def test_where_nobody_says_when_it_starts_it_counts_from_the_first_look(small_app, serve):
    client = serve(small_app)
    assert isinstance(small_app.pipelines["p"], Pipeline)
    first = client.get("/metrics")

    assert first.status_code == 200
    assert "holdfast_store_up 1.0" in first.text
