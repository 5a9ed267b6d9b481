"""Which dead letters a replay sends back, and which it leaves alone."""

import pytest

from holdfast import Holdfast, UsageError
from holdfast.core.dead_letter.dead_letter import LetterState
from holdfast.core.dead_letter.replay import Counts, ItemState, ReplayState
from holdfast.engine.dead_letters.selection import A_MESSAGE, NO_KEY
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.testing import drain
from holdfast.testing.conformance.dead_letters.message_letters import letter
from tests.engine.replays.gateway import AT_ONCE, READY, Gateway, returns


def test_letters_that_die_later_are_not_in_the_list(app: Holdfast, fail):
    ids = fail(2)
    replay = app.replays.start("outage", LetterFilter(), by="ada", **AT_ONCE)
    later = fail(2, first=2)

    app.replays.advance(replay.id)

    assert returns(app, ids) == [1, 1]
    assert returns(app, later) == [0, 0]
    assert [item.letter_id for item in app.replays.items(replay.id)] == ids


def test_letters_that_cannot_be_sent_any_more_are_skipped_with_the_reason(app: Holdfast, fail):
    ids = fail(5)
    replay = app.replays.start("outage", LetterFilter(), by="ada", **AT_ONCE)
    app.dead.resolve(ids[0], note="by hand", by="bob", unreplayed=True)
    app.dead.replay(ids[1], by="bob")
    app.dead.triage(ids[2], cause="data", by="bob")
    app.retry(ids[3], by="bob")
    drain(app)

    app.replays.advance(replay.id)

    found = [(item.state, item.note) for item in app.replays.items(replay.id)]
    assert found == [
        (ItemState.SKIPPED, "it is resolved"),
        (ItemState.SKIPPED, "somebody else sent its job back"),
        (ItemState.SKIPPED, "it has not been remediated"),
        (ItemState.SKIPPED, "somebody else sent its job back"),
        (ItemState.SENT, None),
    ]
    assert returns(app, ids) == [0, 1, 0, 1, 1]


def test_a_job_that_died_again_by_another_hand_is_not_sent_again(
    app: Holdfast, gateway: Gateway, fail
):
    (job_id,) = fail(1)
    replay = app.replays.start("outage", LetterFilter(), by="ada", **AT_ONCE)
    gateway.down_for = {0}
    app.dead.replay(job_id, by="bob")
    drain(app)
    app.dead.triage(job_id, cause="transient", by="bob")
    app.dead.remediate(job_id, evidence="mended", by="bob")

    view = app.replays.advance(replay.id)

    assert (view.state, view.counts) == (ReplayState.DONE, Counts(skipped=1))
    assert returns(app, [job_id]) == [1]


def test_a_letter_that_has_yet_to_be_worked_on_is_not_replayed(app: Holdfast, fail):
    ids = fail(4)
    app.dead.triage(ids[1], cause="data", by="ada")
    for job_id in ids[2:]:
        app.dead.triage(job_id, cause="data", by="ada")
        app.dead.remediate(job_id, evidence="corrected", by="ada")

    view = app.replays.start("outage", LetterFilter(), by="ada")

    assert view.counts == Counts(pending=2, skipped=2)
    assert [item.note for item in app.replays.items(view.id)] == [
        "it has not been triaged",
        "it has not been remediated",
        None,
        None,
    ]


def test_what_is_said_of_all_replaces_nothing_that_was_found_out(app: Holdfast, fail):
    ids = fail(2)
    app.dead.triage(ids[0], cause="code_defect", by="bob")
    app.dead.triage(ids[1], cause="data", by="bob")
    app.dead.remediate(ids[1], evidence="corrected", by="bob")

    app.replays.start("outage", LetterFilter(), by="ada", **READY)

    letters = [app.dead.get(job_id).letter for job_id in ids]
    assert [(letter.cause, letter.evidence) for letter in letters] == [
        ("code_defect", "the gateway answers again"),
        ("data", "corrected"),
    ]


def test_what_is_said_of_all_is_on_record_for_each(app: Holdfast, fail):
    (job_id,) = fail(1)

    app.replays.start("outage", LetterFilter(), by="ada", **READY)

    actions = reversed(app.dead.show(job_id).actions)
    assert [(entry.action, entry.done_by, entry.reason) for entry in actions] == [
        ("triaged", "ada", None),
        ("remediated", "ada", "the gateway answers again"),
    ]
    assert app.verify() == []


def test_a_letter_that_moved_since_it_was_read_is_not_readied(app: Holdfast, fail):
    (job_id,) = fail(1)
    read = app.dead.get(job_id).letter
    app.dead.triage(job_id, cause="data", by="bob")

    assert not app.dead.ready(read, by="ada", **READY)
    app.dead.resolve(job_id, note="by hand", by="bob", unreplayed=True)
    assert not app.dead.ready(app.dead.get(job_id).letter, by="ada", **READY)
    assert app.dead.get(job_id).letter.cause == "data"


def test_a_job_without_a_key_needs_a_word_that_it_may_be_repeated(app: Holdfast, fail):
    ids = [*fail(1), *fail(1, first=1, keys=False)]

    careful = app.replays.start("one", LetterFilter(), by="ada", **AT_ONCE)
    bold = app.replays.start("two", LetterFilter(), by="ada", confirm_idempotent=True, **AT_ONCE)

    assert [item.note for item in app.replays.items(careful.id)] == [None, NO_KEY]
    assert bold.counts == Counts(pending=2)
    app.replays.advance(bold.id)
    assert returns(app, ids) == [1, 1]


def test_a_group_is_named_by_its_fingerprint(app: Holdfast, fail, gateway: Gateway):
    ids = fail(2)
    (group,) = app.dead.groups()

    view = app.replays.start("outage", group.fingerprint, by="ada", **AT_ONCE)

    assert view.counts == Counts(pending=2)
    assert [item.letter_id for item in app.replays.items(view.id)] == ids
    with pytest.raises(UsageError, match="no dead letter matches"):
        app.replays.start("outage", "another", by="ada")


def test_a_preview_tells_what_would_happen_and_changes_nothing(app: Holdfast, fail):
    ids = [*fail(7), *fail(1, first=7, keys=False)]
    app.dead.triage(ids[0], cause="data", by="ada")

    bare = app.replays.preview(LetterFilter())
    readied = app.replays.preview(LetterFilter(error_class="GATEWAY_DOWN"), readied=True)

    assert (bare.letters, bare.ready) == (8, 0)
    assert bare.skipped == {"it has not been triaged": 7, "it has not been remediated": 1}
    assert (readied.letters, readied.ready) == (8, 7)
    assert readied.skipped == {NO_KEY: 1}
    assert readied.pipelines == {"p": 7}
    assert readied.stages == {"convert": 7}
    assert readied.error_classes == {"GATEWAY_DOWN": 7}
    assert [letter.id for letter in readied.first] == ids[:5]
    assert readied.to_document()["first"][0]["id"] == ids[0]
    assert app.replays.preview(LetterFilter(stage="fetch")).letters == 0
    assert app.dead.get(ids[1]).letter.state is LetterState.OPEN
    assert app.replays.latest() == []


def test_dead_messages_are_no_part_of_a_replay_of_many(app: Holdfast, fail):
    fail(1)
    app.store.letters.bury(letter())

    view = app.replays.start("outage", LetterFilter(), by="ada", **READY)

    assert view.counts == Counts(pending=1, skipped=1)
    assert {item.note for item in app.replays.items(view.id)} == {None, A_MESSAGE}


def test_where_nothing_can_be_sent_nothing_is_started(app: Holdfast, fail):
    fail(2)

    with pytest.raises(UsageError, match=r"none of the 2 dead letters .*\(2: it has not been tri"):
        app.replays.start("outage", LetterFilter(), by="ada")
    assert app.replays.latest() == []
