"""What an outage of a service costs, and what comes of it afterwards."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.collabiq.tests.world import World, mail, status
from collabiq.inbox.feeding import AT_ONCE
from collabiq.records.circuit_breaker import CircuitState
from collabiq.stand_ins.world import GEMINI_KEY, NOTION_KEY
from holdfast.testing import run_inline

CREATE = ("POST", "/v1/pages")
GENERATE = ("POST", ":generateContent")
STARTUPS = ("Lumenkit", "Brightfold", "Quietmeter")


@pytest.fixture
def world(world_of) -> Iterator[World]:
    """The system, whose breakers stay open for a shorter time."""
    with world_of(CIRCUIT_COOLDOWN_MS="15000") as made:
        yield made


def many(world: World, count: int) -> list[str]:
    """Have mails arrive, each about other companies."""
    return [world.deliver(subject=f"Firm{number} x Orchard Retail") for number in range(count)]


def step(world: World) -> None:
    """Let a second pass, and run what is due then."""
    world.clock.advance(1)
    world.poller.turn()
    run_inline(world.engine)
    world.poller.turn()


def steps_until_ended(world: World, *, most: int) -> None:
    """Let seconds pass until no mail is under way."""
    for _ in range(most):
        counts = world.counts()
        if not counts["pending"] and not counts["processing"]:
            return
        step(world)


def test_an_outage_of_notion_costs_a_handful_of_entries(world: World):
    first = world.deliver()
    world.run()
    world.notion.serving.fault = "overloaded"
    waiting = many(world, 18)
    world.clock.advance(15)
    for _ in range(15):
        step(world)
    failed = world.counts()["failed"]
    state = world.system.circuits.state_of("notion").state
    world.notion.serving.fault = None
    steps_until_ended(world, most=45)
    counts = world.counts()
    replayed = world.system.dlq.replay_many("notion_write", max_count=40, by="kim", wait_s=0)
    world.run()

    assert world.email(first).page_id
    assert state is CircuitState.OPEN
    assert 5 <= failed <= AT_ONCE
    assert counts["failed"] == failed
    assert counts["needs_review"] == len(waiting) + 1 - failed
    assert replayed["skipped"] == failed
    assert len(world.pages()) == len(waiting) + 1


def test_after_the_timeout_one_mail_tries_and_no_other_fails_because_of_it(world: World):
    world.deliver()
    world.run()
    world.notion.serving.fault = "overloaded"
    many(world, 16)
    world.clock.advance(15)
    for _ in range(15):
        step(world)
    before = world.counts()["failed"]
    for _ in range(25):
        step(world)

    assert world.counts()["failed"] - before <= 2  # two timeouts, a mail each


def test_mails_are_kept_where_breakers_hold(world_of):
    with world_of(CIRCUIT_MODE="hold", CIRCUIT_COOLDOWN_MS="10000") as world:
        world.deliver()
        world.run()
        world.notion.next(*CREATE, *[status(503)] * 5)
        many(world, 6)
        world.clock.advance(15)
        step(world)
        steps_until_ended(world, most=60)

        assert world.counts()["failed"] == 0
        assert len(world.pages()) == 7


def test_a_mail_that_fails_for_good_does_not_hold_the_next(world: World):
    world.deliver()
    world.run()
    world.notion.next(*CREATE, world.notion.fault("invalid"))
    bad = world.deliver(subject="Lumenkit x Harbor Logistics")
    good = world.deliver(subject="Quietmeter x Harbor Logistics")
    before = len(world.notion.times(*CREATE))
    world.poll()
    failed_at, written_at = world.notion.times(*CREATE)[before:]

    assert world.email(bad).status == "failed"
    assert world.email(good).page_id
    assert written_at - failed_at <= 1.0


def test_answers_that_can_be_used_are(world_of):
    with world_of(LLM_ORDER="gemini") as world:
        for fault, reviewed in (
            ("fenced", ""),
            ("names_for_ids", ""),
            ("strange_ids", "none of the ids"),
        ):
            world.gemini.serving.fault = fault
            email_id = world.deliver()
            world.poll()

            assert world.email(email_id).page_id, fault
            assert reviewed in " ".join(world.email(email_id).review)


def test_an_answer_that_is_half_is_asked_for_again_and_then_given_up(world_of):
    with world_of(LLM_ORDER="gemini") as world:
        world.gemini.next(*GENERATE, world.gemini.fault("half_json"))
        repaired = world.deliver()
        world.run()
        world.gemini.serving.fault = "half_json"
        given_up = world.deliver(subject="Lumenkit x Orchard Retail")
        before = len(world.gemini.serving.calls)
        world.poll()
        [entry] = world.entries()
        asked = len(world.gemini.serving.calls) - before

        assert world.email(repaired).page_id
        assert world.email(given_up).status == "failed"
        assert asked == 3
        assert entry["operation_type"] == "gemini_extract"
        assert "pilot" in entry["original_payload"]["text"]
        [record] = world.records(email_id=given_up)
        assert (record["severity"], record["category"]) == ("ERROR", "PERMANENT")


def test_a_spent_quota_is_critical_and_no_further_mail_is_taken(world_of):
    with world_of(LLM_ORDER="gemini") as world:
        world.deliver()
        world.run()
        world.gemini.serving.fault = "out_of_quota"
        many(world, 20)
        world.clock.advance(15)
        for _ in range(10):
            step(world)
        failed = world.counts()["failed"]
        categories = {each["category"] for each in world.records(operation="gemini_extract")}

        assert 1 <= failed <= AT_ONCE
        assert categories == {"CRITICAL"}


def test_the_rules_stand_in_for_a_model_that_is_down_where_that_is_wanted(world_of):
    with world_of(LLM_ORDER="gemini,offline") as world:
        world.gemini.serving.fault = "unauthorized"
        email_id = world.deliver()
        world.run()

        assert world.email(email_id).page_id
        assert "Gemini could not be asked" in world.email(email_id).review
        extraction = world.engine.results(world.email(email_id).job_id or "")["gemini_extract"]
        assert extraction["extractor"] == "rules"


def test_mails_do_not_wait_for_a_model_whose_breaker_is_open_where_rules_take_its_place(world_of):
    with world_of(LLM_ORDER="gemini,offline") as world:
        world.gemini.serving.fault = "overloaded"
        guard = world.built.flow.works.tools.gemini_guard
        assert guard is not None
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(guard, "_retry", None)  # its waits are by real time
            many(world, 8)
            world.run()

        assert world.counts()["needs_review"] == 8
        assert guard.gate.value == "open"
        assert len(world.gemini.serving.calls) == 5
        gemini = next(
            each for each in world.system.status()["services"] if each["service"] == "gemini"
        )
        assert (gemini["state"], gemini["circuit"]) == ("UNAVAILABLE", "OPEN")


def test_a_replaced_key_is_used_at_the_first_refusal(world_of, tmp_path):
    env_file = tmp_path / ".env"
    env_file.write_text(f"NOTION_API_KEY={NOTION_KEY}\nGEMINI_API_KEY={GEMINI_KEY}\n")
    with world_of(LLM_ORDER="gemini", ENV_FILE=str(env_file)) as world:
        world.deliver()
        world.run()
        world.stand_ins.notion.token = "another-notion-key"
        env_file.write_text(f"NOTION_API_KEY=another-notion-key\nGEMINI_API_KEY={GEMINI_KEY}\n")
        email_id = world.deliver(subject="Lumenkit x Orchard Retail")
        world.poll()

        assert world.email(email_id).page_id
        assert world.records() == []


def test_a_refused_key_is_critical(world: World):
    world.deliver()
    world.run()
    world.notion.serving.fault = "unauthorized"
    email_id = world.deliver(subject="Lumenkit x Orchard Retail")
    world.poll()
    [record] = world.records(email_id=email_id)

    assert world.email(email_id).status == "failed"
    assert (record["severity"], record["category"]) == ("CRITICAL", "CRITICAL")


def test_notion_that_is_away_from_the_start_costs_a_handful(world: World):
    world.notion.serving.fault = "overloaded"
    many(world, 16)
    for _ in range(15):
        step(world)
    failed = world.counts()["failed"]
    world.notion.serving.fault = None
    steps_until_ended(world, most=50)

    assert failed <= AT_ONCE
    assert world.counts()["needs_review"] == 16 - world.counts()["failed"]


def test_a_data_source_that_was_moved_is_found_again(world: World):
    world.deliver()
    world.run()
    world.stand_ins.notion.replace_source(world.stand_ins.rows_id)
    email_id = world.deliver(subject="Lumenkit x Orchard Retail")
    world.poll()

    assert world.email(email_id).page_id
    assert world.records() == []


def test_a_page_is_never_written_above_the_rate(world: World):
    world.deliver()
    world.run()
    world.stand_ins.notion.rate_per_s = 3.0
    before = len(world.notion.calls)
    many(world, 40)
    world.poll()
    times = sorted(at for at, _, _ in world.notion.calls[before:])
    took_s = times[-1] - times[0]
    busiest = max(sum(1 for each in times if at <= each < at + 60) for at in times)

    assert len(world.pages()) == 41
    assert world.stand_ins.notion.refused == 0
    assert busiest <= 180
    assert 40 / took_s * 60 >= 140  # lookups are shared


def test_texts_that_break_things_do_not(world: World):
    odd = mail(
        "x" * 3_000 + " x 서하백화점, 나무결",
        "We agreed on a\x00b pilot. " + "🙂, " * 3_000,
        number=99,
    )
    email_id = world.deliver_raw(odd)
    world.run()

    assert world.email(email_id).page_id


@pytest.mark.parametrize("name", ["data/dlq", "data"])
def test_a_folder_that_cannot_be_written_holds_up_no_mail_and_files_come_later(
    world: World, tmp_path: Path, name: str
):
    blocked = tmp_path / name
    shutil.rmtree(blocked, ignore_errors=True)
    blocked.parent.mkdir(exist_ok=True)
    blocked.write_text("in the way")  # whoever runs the tests may write to every folder
    world.stand_ins.notion.remove_column(world.stand_ins.rows_id, "협업강도")
    world.notion.next(*CREATE, world.notion.fault("invalid"))
    failed = world.deliver()
    world.run()
    fine = world.deliver(subject="Lumenkit x Orchard Retail")
    world.poll()
    world.system.dlq.mirror.flush()
    before = {each.subject for each in world.engine.attention()}
    [entry] = world.entries()
    blocked.unlink()
    world.system.dlq.mirror.flush()
    after = {each.subject for each in world.engine.attention()}

    assert (world.email(failed).status, world.email(fine).status) == ("failed", "needs_review")
    assert entry["email_id"] == failed
    assert before - after == {f"dead letter files: {tmp_path / 'data' / 'dlq'}"}
    assert [each.stem for each in tmp_path.glob("data/dlq/*/*.json")] == [entry["dlq_id"]]
