"""What people do about a dead letter, step by step and on record."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast import GiveUp, JobState, Pipeline
from holdfast.core.dead_letter.dead_letter import LetterState, Standing
from holdfast.core.values.failure import MAX_MESSAGE_LENGTH
from holdfast.errors import InvalidValue, StepMissing
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.testing import run_inline
from tests.engine.dead_letters.letters import actions, died, replayed


def test_secrets_are_kept_out_of_everything_people_write(app, script):
    script._then = GiveUp("INVALID", "Authorization: Bearer sk-live-0123456789abcdefghij")
    letter_id = died(app, key="password=hunter2secret")
    app.dead.triage(letter_id, cause="data", by="ada", note="api_key=abcdef0123456789abcdef")
    app.dead.remediate(letter_id, evidence="token=ghp_0123456789abcdefghij0123456789abcdef", by="a")
    app.dead.replay(letter_id, by="ada", reason="password: tr0ub4dor&3xyz")

    shown = str(app.dead.show(letter_id).to_document())

    for secret in ("sk-live", "hunter2", "abcdef0123456789abcdef", "ghp_", "tr0ub4dor"):
        assert secret not in shown
    assert "redacted" in shown


def test_the_whole_way_from_death_to_resolution(app, dead, script):
    view = replayed(app, dead, reason="corrected")
    assert (view.standing, view.job_state) == (Standing.REPLAYING, JobState.QUEUED)
    run_inline(app)
    assert app.dead.get(dead).standing is Standing.VERIFIED

    resolved = app.dead.resolve(dead, note="delivered", by="bob")

    assert (resolved.standing, resolved.dismissed) == (Standing.RESOLVED, False)
    assert actions(app, dead) == [
        ("triaged", "ada", "the source left it out"),
        ("remediated", "ada", "INC-7"),
        ("replayed", "ada", "corrected"),
        ("resolved", "bob", "delivered"),
    ]
    assert app.dead.find(LetterFilter(states=(LetterState.OPEN,))) == []
    assert app.verify() == []


@pytest.mark.parametrize(
    ("step", "missing"),
    [
        (lambda dead, one: dead.remediate(one, evidence="INC-7", by="ada"), "triage"),
        (lambda dead, one: dead.replay(one, by="ada"), "triage"),
        (lambda dead, one: dead.resolve(one, note="done", by="ada"), "triage"),
        (lambda dead, one: dead.resolve(one, note=" ", by="ada", unreplayed=True), "note"),
    ],
    ids=["remediate", "replay", "resolve", "dismiss without a note"],
)
def test_a_step_out_of_order_is_refused_and_changes_nothing(app, dead, step, missing):
    before = app.dead.get(dead).letter

    with pytest.raises(StepMissing, match="cannot") as caught:
        step(app.dead, dead)

    assert (caught.value.missing, caught.value.state) == (missing, "open")
    assert caught.value.letter_id == dead
    assert app.dead.get(dead).letter == before
    assert actions(app, dead) == []


def test_evidence_must_say_something(app, dead):
    app.dead.triage(dead, cause="data", by="ada")

    with pytest.raises(StepMissing, match="the evidence is empty"):
        app.dead.remediate(dead, evidence="  ", by="ada")


def test_a_letter_is_not_resolved_while_its_job_is_under_way(app, dead):
    replayed(app, dead)

    for unreplayed in (False, True):
        with pytest.raises(StepMissing, match="not complete"):
            app.dead.resolve(dead, note="done", by="ada", unreplayed=unreplayed)


def test_a_dismissal_is_on_record_as_one(app, dead):
    view = app.dead.resolve(dead, note="a test order", by="ada", unreplayed=True)

    assert (view.standing, view.dismissed) == (Standing.RESOLVED, True)
    assert actions(app, dead) == [("dismissed", "ada", "a test order")]


def test_a_letter_whose_replayed_job_was_cancelled_can_be_dismissed(app, dead):
    replayed(app, dead)
    app.cancel(dead, by="ada")
    assert app.dead.get(dead).standing is Standing.CANCELLED

    view = app.dead.resolve(dead, note="no longer wanted", by="ada", unreplayed=True)

    assert view.dismissed
    assert app.verify() == []


def test_a_cause_that_several_pipelines_share_is_one_group_that_names_them(open_app):
    def refuse(job):
        raise GiveUp("GATEWAY_DOWN", "no answer")

    pipelines = [Pipeline("orders"), Pipeline("invoices")]
    for pipeline in pipelines:
        pipeline.stage(name="call")(refuse)
    app = open_app(*pipelines)
    for name in ("orders", "orders", "invoices"):
        app.submit(name)
    run_inline(app)

    (group,) = app.dead.groups()

    assert (group.pipelines, group.letters) == (("invoices", "orders"), 3)
    assert len(app.dead.find(LetterFilter(fingerprint=group.fingerprint))) == group.letters


def test_two_people_who_triage_at_once_are_both_on_record(app, dead):
    gate = threading.Barrier(2)

    def triage(person: str) -> None:
        gate.wait()
        app.dead.triage(dead, cause="data", by=person)

    with ThreadPoolExecutor(2) as people:
        list(people.map(triage, ("ada", "bob")))

    assert {by for _, by, _ in actions(app, dead)} == {"ada", "bob"}
    assert app.dead.get(dead).letter.revision == 2


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda dead, one: dead.find(limit=0), "limit"),
        (lambda dead, one: dead.find(limit=10_001), "limit"),
        (lambda dead, one: dead.groups(limit=0), "limit"),
        (lambda dead, one: dead.triage(one, cause="weather", by="ada"), "cause"),
        (lambda dead, one: dead.triage(one, cause="data", by=""), "by"),
        (lambda dead, one: dead.triage(one, cause="data", by="ada", note=7), "note"),
        (lambda dead, one: dead.remediate(one, evidence=None, by="ada"), "evidence"),
        (lambda dead, one: dead.replay(one, by="a\nb"), "by"),
        (lambda dead, one: dead.resolve(one, note=b"x", by="ada"), "note"),
    ],
)
def test_what_makes_no_sense_is_refused(app, dead, call, field):
    with pytest.raises(InvalidValue) as caught:
        call(app.dead, dead)

    assert caught.value.field == field
    assert actions(app, dead) == []


def test_notes_are_cut_to_what_a_row_holds(app, dead):
    view = app.dead.triage(dead, cause="data", by="ada", note="long " * 10_000)

    assert len(view.letter.note) <= MAX_MESSAGE_LENGTH
    assert app.dead.get(dead).letter == view.letter
