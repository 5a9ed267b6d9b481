"""`collabiq run` and `collabiq email fetch`: from the mailbox to rows, once or for ever."""

import json
import signal
import sys

import pytest

from collabiq.samples import mailbox
from holdfast import Holdfast
from tests.deployed.process import eventually
from tests.warm.process import WarmProcess

SAMPLES = {sample.name: sample for sample in mailbox()}
THREE = [SAMPLES["english-plain"], SAMPLES["korean-plain"], SAMPLES["odd-auto-reply"]]


@pytest.fixture(autouse=True)
def fast(environment, sqlite_url):
    """Settings by which nothing is waited for that need not be."""
    environment |= {
        "DATABASE_URL": sqlite_url,
        "INFISICAL_ENABLED": "0",
        "LLM_ORDER": "offline",
        "NOTION_RATE_LIMIT_PER_SEC": "1000",
        "CIRCUIT_COOLDOWN_MS": "60000",
    }


def rows(world):
    return world.world.notion.rows_of(world.world.rows_id)


def test_one_run_works_off_the_mailbox_and_the_next_finds_nothing(run, world):
    world.world.deliver(THREE)

    first = run("run", "--json")
    second = run("run", "--json")

    done = json.loads(first.stdout)
    assert first.exit_code == second.exit_code == 0, first.output + second.output
    assert done["new"] == 3
    assert done["ended"]["skipped"] == 1
    assert done["ended"]["needs_review"] == 2
    assert (done["left"], done["away"]) == (0, [])
    assert len(rows(world)) == 2
    assert sum(json.loads(second.stdout)["ended"].values()) == 0


def test_a_row_is_made_where_rows_turn_up_in_queries_at_once(run, world, environment):
    environment["NOTION_LOOKUP_LAG_MS"] = "0"
    world.world.deliver(THREE[:1])

    done = run("run", "--max-wait", "20", "--json")

    assert done.exit_code == 0, done.output
    assert len(rows(world)) == 1


def test_a_fetch_notes_what_is_new_and_a_run_processes_it(run, world):
    world.world.deliver(THREE)

    fetched = run("email", "fetch", "--json")
    before = len(rows(world))
    shown = run("run")

    assert fetched.exit_code == shown.exit_code == 0, fetched.output + shown.output
    assert json.loads(fetched.stdout)["new"] == 3
    assert before == 0
    assert len(rows(world)) == 2
    assert "2 needs_review" in shown.stdout


def test_without_a_secret_nothing_begins_and_its_name_is_told(run, environment):
    del environment["NOTION_API_KEY"]

    done = run("run", "--json")

    assert done.exit_code == 2
    assert "NOTION_API_KEY" in json.loads(done.stdout)["error"]["message"]


def test_without_a_mailbox_it_says_what_to_set(run, environment):
    del environment["EMAIL_ADDRESS"]

    assert run("run").exit_code == 2


def test_revoked_credentials_end_a_run_with_2_and_what_to_do(run, world):
    world.world.gmail.expire_tokens()
    world.servings["gmail"].fault = "token_revoked"

    done = run("run")
    fetched = run("email", "fetch")

    assert done.exit_code == fetched.exit_code == 2
    assert "collabiq gmail login" in done.stderr
    assert "collabiq gmail login" in fetched.stderr


def refusing_rows(world):
    """Return a Notion that answers 400 to every row that is to be made."""

    def answer(call):
        if call.method == "POST" and call.path.endswith("/pages"):
            return world.world.notion.faults["invalid"](call)
        return world.world.notion(call)

    return answer


def test_what_notion_refuses_is_a_dead_letter_that_a_retry_writes_once(run, world):
    world.world.deliver(THREE[:1])
    serving = world.servings["notion"]
    kept, serving.stand_in = serving.stand_in, refusing_rows(world)
    failed = run("run", "--json")
    [entry] = json.loads(run("errors", "list", "--json").stdout)["entries"]
    again = json.loads(run("errors", "retry", entry["dlq_id"], "--json").stdout)
    serving.stand_in = kept
    done = run("errors", "retry", "--operation", "notion_write", "--json")
    twice = run("errors", "retry", entry["dlq_id"])

    assert failed.exit_code == 1, failed.output
    assert json.loads(failed.stdout)["ended"]["failed"] == 1
    assert entry["operation_type"] == "notion_write"
    assert (again["success"], again["failed"]) == (0, 1)
    assert json.loads(done.stdout) == {"success": 1, "failed": 0, "skipped": 0, "refused": []}
    assert twice.exit_code == 1
    assert "replayed with success" in twice.stderr
    assert len(rows(world)) == 1


def test_a_file_that_was_corrected_is_what_a_retry_writes(run, world, tmp_path):
    world.world.deliver(THREE[:1])
    serving = world.servings["notion"]
    kept, serving.stand_in = serving.stand_in, refusing_rows(world)
    run("run")
    serving.stand_in = kept
    [file] = (tmp_path / "data" / "dlq" / "notion_write").glob("dlq_*.json")
    entry = json.loads(file.read_text("utf-8"))
    title = entry["original_payload"]["properties"]["제목"]["title"][0]["text"]

    title["content"] = "Corrected by hand"
    file.write_text(json.dumps(entry), "utf-8")
    done = run("errors", "retry", entry["dlq_id"], "--json")

    assert done.exit_code == 0, done.output
    [row] = rows(world)
    assert row["properties"]["제목"]["title"][0]["plain_text"] == "Corrected by hand"


def test_a_file_that_names_another_database_is_refused_with_4(run, world, tmp_path):
    world.world.deliver(THREE[:1])
    serving = world.servings["notion"]
    kept, serving.stand_in = serving.stand_in, refusing_rows(world)
    run("run")
    serving.stand_in = kept
    [file] = (tmp_path / "data" / "dlq" / "notion_write").glob("dlq_*.json")
    entry = json.loads(file.read_text("utf-8"))

    entry["original_payload"]["database_id"] = "somebody-elses"
    file.write_text(json.dumps(entry), "utf-8")
    done = run("errors", "retry", entry["dlq_id"], "--json")

    assert done.exit_code == 4
    assert "database_id" in json.loads(done.stdout)["error"]["message"]
    assert rows(world) == []


def test_mails_are_left_for_later_while_a_service_is_away(run, world, environment):
    world.world.deliver(THREE[:1])
    run("email", "fetch")
    with Holdfast(environment["DATABASE_URL"]) as engine:
        engine.upstreams.force_open("notion", by="test")

    done = run("run", "--json")

    found = json.loads(done.stdout)
    assert done.exit_code == 3, done.output
    assert (found["left"], found["away"]) == (1, ["notion"])
    assert "left for later" in done.stderr
    assert rows(world) == []


def test_a_daemon_processes_what_comes_until_it_is_stopped(world, environment, tmp_path):
    environment["PYTHONUNBUFFERED"] = "1"
    command = [sys.executable, "-m", "collabiq", "run", "--daemon", "--interval", "1", "--json"]
    with WarmProcess(command, cwd=tmp_path, env=environment, stdout=-1, text=True) as process:
        said = json.loads(process.stdout.readline())
        world.world.deliver(THREE[:1])
        eventually(lambda: rows(world) or process.poll() is not None, "a row, or the end")
        process.send_signal(signal.SIGTERM)
        code = process.wait(20)

    assert said == {"mailbox": "collab@example.com", "interval_s": 1.0}
    assert code == 0
    assert len(rows(world)) == 1
