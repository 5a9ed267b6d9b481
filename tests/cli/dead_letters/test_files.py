"""`holdfast dead export`, `import`, and the replay of a letter that came from a file."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast import Holdfast, JobState, Pipeline
from holdfast.letter_files.entry import letter_id_of
from holdfast.letter_files.files import PROCESSED
from holdfast.letter_files.form import PLAIN_FORM
from holdfast.testing.inline import run_inline
from tests.cli.conftest import Command, error_of, lines
from tests.cli.terminal import environment, on_terminal

Jobs = Callable[..., str]


def an_entry(**changes: object) -> dict[str, object]:
    return {
        "entry_id": "letter_20251106_101522_abc123",
        "subject": "19a3",
        "operation_type": "to_xml",
        "status": "pending",
        "original_payload": {"pdf": "report.pdf"},
        "error_details": {"error_type": "Timeout", "error_message": "slow", "retry_count": 1},
        "created_at": "2025-11-06T10:15:22Z",
        "last_attempt": "2025-11-06T10:15:45Z",
        **changes,
    }


def put(folder: Path, entry: dict[str, object]) -> Path:
    path = folder / str(entry["operation_type"]) / f"{entry['entry_id']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entry), "utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "dlq"


def test_letters_are_exported_and_the_files_are_named(on_app: Command, job: Jobs, folder: Path):
    first, second = job("broken", key="a"), job("broken", key="b")

    result = on_app("dead", "export", folder)

    assert result.exit_code == 0
    written = {line.split()[2]: Path(line.split()[0]) for line in result.stdout.splitlines()}
    assert set(written) == {first, second}
    entry = PLAIN_FORM.read(json.loads(written[first].read_text()))
    assert (entry.subject, entry.original_payload) == ("a", {"pdf": "broken"})
    assert result.stderr.splitlines() == [
        f"{folder} holds original payloads; keep it as safe as they are.",
        "2 written.",
    ]


def test_an_export_takes_a_filter_and_leaves_resolved_letters_out(
    on_app: Command, app: Holdfast, job: Jobs, folder: Path
):
    first, second = job("broken", key="a"), job("broken", key="b", owner="bob")
    app.dead.resolve(first, note="not needed", by="ada", unreplayed=True)

    def exported(*options: str) -> list[str]:
        return [line["id"] for line in lines(on_app("dead", "export", folder, *options).stdout)]

    assert exported("--json") == [second]
    assert exported("--json", "--owner", "ada") == []
    assert exported("--json", "--all") == [second, first]
    assert len(json.loads((folder / PROCESSED).read_text())) == 1
    assert on_app("dead", "export", folder, "--all", "--state", "open").exit_code == 2


def test_redacted_files_hold_no_secrets(on_app: Command, app: Holdfast, folder: Path):
    app.submit("convert", {"pdf": "broken", "password": "hunter2-and-more"})
    run_inline(app)

    result = on_app("dead", "export", folder, "--redact", "--json")

    assert "hunter2" not in Path(lines(result.stdout)[0]["path"]).read_text()
    assert "original payloads" not in result.stderr


def test_the_help_says_what_the_files_hold(holdfast: Command):
    shown = " ".join(holdfast("dead", "export", "--help").output.split())

    assert "Without --redact the files hold the original payloads, secrets" in shown


def test_files_are_imported_and_bad_ones_told(on_app: Command, app: Holdfast, folder: Path):
    good = put(folder, an_entry())
    bad = put(folder, an_entry(entry_id="letter_20251106_101522_bad", original_payload={}))

    first = on_app("dead", "import", folder, "--by", "ada")
    second = on_app("dead", "import", folder, "--json")

    letter_id = letter_id_of("letter_20251106_101522_abc123")
    assert (first.exit_code, second.exit_code) == (1, 1)
    assert f"{good}  imported  {letter_id}" in first.stdout
    assert f"{bad}  refused  dead letter file at /original_payload" in first.stdout
    assert first.stderr == "1 imported, 1 refused.\n"
    told = {line["path"]: line for line in lines(second.stdout)}
    assert told[str(good)]["outcome"] == "known"
    assert told[str(bad)]["error"]["code"] == "invalid_document"
    assert [view.id for view in app.dead.find()] == [letter_id]
    assert app.dead.show(letter_id).actions[0].done_by == "ada"


def test_operations_are_those_of_the_app_and_those_named(
    holdfast: Command, app: Holdfast, folder: Path, database_url: str
):
    put(folder, an_entry())

    def imported(*options: str):
        return holdfast("dead", "import", folder, "--database-url", database_url, *options)

    refused = imported()

    assert refused.exit_code == 1
    assert "To take these, too: --operation to_xml" in refused.stderr
    assert imported("--operation", "to_xml").exit_code == 0


def test_a_letter_from_a_file_is_replayed_into_a_pipeline(
    on_app: Command, app: Holdfast, folder: Path
):
    put(folder, an_entry())
    on_app("dead", "import", folder)
    letter_id = letter_id_of("letter_20251106_101522_abc123")
    early = on_app("dead", "replay", letter_id, "--pipeline", "convert", "--json")
    on_app("dead", "triage", letter_id, "--cause", "transient")
    next_step = on_app("dead", "remediate", letter_id, "--evidence", "INC-7")

    nowhere = on_app("dead", "replay", letter_id)
    unknown = on_app("dead", "replay", letter_id, "--pipeline", "nothing")
    done = on_app("dead", "replay", letter_id, "--pipeline", "convert")
    again = on_app("dead", "replay", letter_id, "--pipeline", "convert")
    run_inline(app)

    assert (early.exit_code, error_of(early)["missing"]) == (4, "triage")
    assert f"holdfast dead replay {letter_id} --pipeline" in next_step.stderr
    assert (nowhere.exit_code, "say where it goes: --pipeline" in nowhere.stderr) == (2, True)
    assert (unknown.exit_code, "no pipeline is called 'nothing'" in unknown.stderr) == (2, True)
    assert (done.exit_code, done.stdout) == (0, f"{letter_id}  resolved\n")
    assert again.exit_code == 4
    (view,) = app.jobs()
    assert (view.state, view.job.key) == (JobState.COMPLETE, "letter_20251106_101522_abc123")
    assert f"submitted to convert as job {view.id}" in done.stderr


def test_a_letter_from_a_file_does_not_go_past_what_a_closed_pipeline_checks(
    on_app: Command, app: Holdfast, folder: Path
):
    closed = Pipeline("parcels", submit_by="system", submit_at="POST /api/parcels")
    closed.stage(name="send")(lambda _job: None)
    app.add(closed)
    app.worker()  # which stores what the pipeline says
    put(folder, an_entry())
    on_app("dead", "import", folder)
    letter_id = letter_id_of("letter_20251106_101522_abc123")
    on_app("dead", "triage", letter_id, "--cause", "transient")
    on_app("dead", "remediate", letter_id, "--evidence", "INC-7")

    refused = on_app("dead", "replay", letter_id, "--pipeline", "parcels")

    assert (refused.exit_code, "submit it at POST /api/parcels" in refused.stderr) == (2, True)
    assert app.jobs() == []


def test_a_pipeline_is_for_letters_from_files_alone(
    on_app: Command, holdfast: Command, job: Jobs, database_url: str, monkeypatch
):
    letter_id = job("broken", key="a")

    named = on_app("dead", "replay", letter_id, "--pipeline", "convert")
    monkeypatch.delenv("HOLDFAST_APP")
    without_app = holdfast("dead", "replay", letter_id, "--pipeline", "convert")

    assert (named.exit_code, "leave it out" in named.stderr) == (2, True)
    assert (without_app.exit_code, "-A module:app" in without_app.stderr) == (2, True)


def test_a_folder_that_cannot_be_used_is_said(on_app: Command, job: Jobs, tmp_path: Path):
    job("broken")
    (tmp_path / "dlq").mkdir()
    (tmp_path / "dlq" / "to_xml").write_text("in the way")

    written = on_app("dead", "export", tmp_path / "dlq")
    read = on_app("dead", "import", tmp_path / "nothing")

    assert (written.exit_code, "in the way" in written.stderr) == (2, False)
    assert "cannot use" in written.stderr
    assert (read.exit_code, "is no folder" in read.stderr) == (2, True)


def test_on_a_terminal_only_what_was_refused_is_listed(
    app: Holdfast, database_url: str, folder: Path
):
    good = put(folder, an_entry())
    bad = put(folder, an_entry(entry_id="letter_20251106_101522_bad", subject=""))

    session = on_terminal(["dead", "import", str(folder)], environment(database_url))

    plain = session.plain.replace("\n", "")
    assert session.exit_code == 1
    assert bad.name in plain
    assert good.name not in plain
    assert "1 imported, 1 refused." in plain
