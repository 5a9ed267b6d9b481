"""Dead letters as files: written whole, read back, moved to another system, submitted there."""

import json
import stat
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast import GiveUp, Holdfast, JobState, Pipeline
from holdfast.core.dead_letter import FILE, LetterState
from holdfast.core.replay import Counts
from holdfast.dlq_entry import DLQEntry, DLQStatus
from holdfast.errors import InvalidDocument, StepMissing, UsageError
from holdfast.letter_entry import entry_of, letter_id_of, letter_of
from holdfast.letter_files import PROCESSED, LetterFiles, Outcome, write_whole
from holdfast.replays import FROM_A_FILE
from holdfast.store.letters import LetterFilter
from holdfast.testing import ManualClock, drain

FOREIGN = {
    "dlq_id": "dlq_20251106_101522_abc123",
    "email_id": "19a3f3f856f0b4d4",
    "operation_type": "notion_write",
    "status": "pending",
    "original_payload": {"database_id": "db_123", "properties": {"Title": "Acme"}},
    "error_details": {
        "error_type": "CircuitBreakerOpen",
        "error_message": "Notion is degraded",
        "stack_trace": "Traceback…",
        "retry_count": 3,
    },
    "created_at": "2025-11-06T10:15:22.123000+00:00",
    "last_attempt": "2025-11-06T10:15:45.789000+00:00",
    "replayed_at": None,
    "processed": False,
}


class Gateway:
    """An upstream that is down until it is mended."""

    down = True


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


@pytest.fixture
def pipeline(gateway: Gateway) -> Pipeline:
    made = Pipeline("mail")

    @made.stage
    def notion_write(job, payload: object):
        if gateway.down:
            raise GiveUp("GATEWAY_DOWN", "no answer")
        return payload

    return made


@pytest.fixture
def app(open_app, pipeline: Pipeline) -> Holdfast:
    return open_app(pipeline)


@pytest.fixture
def other(tmp_path: Path, pipeline: Pipeline, clock: ManualClock) -> Iterator[Holdfast]:
    """Another system: an empty database of its own."""
    url = f"sqlite:///{tmp_path / 'other.db'}"
    with Holdfast(url, pipelines=[pipeline], clock=clock) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "dlq"


@pytest.fixture
def die(app: Holdfast) -> Callable[..., str]:
    """Makes a dead letter."""

    def make(payload: object = None, **options) -> str:
        job = app.submit("mail", {"n": 1} if payload is None else payload, **options)
        drain(app)
        app.clock.advance(1)
        return job.id

    return make


def files_of(app: Holdfast) -> LetterFiles:
    return LetterFiles(app.store, clock=app.clock, dead=app.dead, submit=app.submit)


def export(app: Holdfast, folder: Path, **options) -> list[DLQEntry]:
    """Export everything, and return what stands in the files."""
    results = list(files_of(app).export(folder, LetterFilter(), **options))
    assert {result.outcome for result in results} <= {Outcome.WRITTEN}
    return [
        DLQEntry.from_json(json.loads(result.path.read_text("utf-8")), operation_types=None)
        for result in results
    ]


def imported(app: Holdfast, folder: Path) -> list[tuple[str, str | None]]:
    """Import a folder, and return what became of each file."""
    results = files_of(app).import_from(folder, by="ada")
    return [
        (result.outcome.value, None if result.error is None else str(result.error))
        for result in results
    ]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def remediated(app: Holdfast, letter_id: str) -> None:
    app.dead.triage(letter_id, cause="transient", by="ada")
    app.dead.remediate(letter_id, evidence="INC-7", by="ada")


def put(folder: Path, document: object, *, name: str | None = None) -> Path:
    """Write an entry as another program would."""
    given = document if isinstance(document, dict) else {}
    stem = name or given.get("dlq_id", "dlq_20251106_101522_x")
    path = folder / str(given.get("operation_type", "notion_write")) / f"{stem}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")
    return path


def test_a_letter_is_written_in_the_form_of_an_entry(app: Holdfast, die, folder: Path):
    job_id = die({"email_id": "19a3", "n": 7}, key="k-7", owner="bob")

    (entry,) = export(app, folder)

    letter = app.dead.get(job_id).letter
    assert entry.email_id == "19a3"
    assert entry.dlq_id == "dlq_20260101_000000_000000_19a3"
    assert (entry.operation_type, entry.status) == ("notion_write", DLQStatus.PENDING)
    assert entry.original_payload == {"email_id": "19a3", "n": 7}
    assert entry.created_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert (entry.replayed_at, entry.processed) == (None, False)
    details = dict(entry.error_details)
    assert details.pop("holdfast") == {
        "job_id": job_id,
        "pipeline": "mail",
        "queue": "default",
        "owner": "bob",
        "key": "k-7",
        "error_class": "GATEWAY_DOWN",
        "category": letter.category,
        "severity": letter.severity,
        "retryable": False,
        "outcome_known": letter.outcome_known,
        "http_status": None,
        "deaths": 1,
    }
    assert details == {
        "error_type": letter.exception_type or "GATEWAY_DOWN",
        "error_message": "no answer",
        "stack_trace": letter.stack or None,
        "retry_count": 0,
    }
    assert sorted(contents(folder)) == [PROCESSED, f"notion_write/{entry.dlq_id}.json"]


def test_only_the_owner_of_a_file_may_read_it(app: Holdfast, die, folder: Path):
    die()
    export(app, folder)

    for path in folder.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize("email_id", ["../../../etc/passwd", "a/b\\c", "..", "é@ü.example", "-rf"])
def test_no_key_leads_out_of_the_folder(app: Holdfast, die, folder: Path, email_id: str):
    die(key=email_id)

    (entry,) = export(app, folder)

    assert entry.email_id == email_id
    written = [path for path in folder.parent.rglob("*.json") if path.name != PROCESSED]
    assert [path.parent for path in written] == [folder / "notion_write"]


def test_letters_of_one_moment_and_one_name_have_files_of_their_own(
    app: Holdfast, folder: Path, other: Holdfast
):
    for n in range(3):
        app.submit("mail", {"email_id": "same", "n": n})
    drain(app)

    entries = export(app, folder)

    assert len({entry.dlq_id for entry in entries}) == 3
    assert sorted(entry.original_payload["n"] for entry in entries) == [0, 1, 2]
    assert imported(other, folder) == [("imported", None)] * 3


@pytest.mark.parametrize("direction", ["there", "from there"])
def test_what_was_exported_and_imported_is_exported_alike(
    app: Holdfast, other: Holdfast, tmp_path: Path, gateway: Gateway, direction: str
):
    folder = tmp_path / "first"
    source, target = (app, other) if direction == "there" else (other, app)
    payloads = [
        {"email_id": "1", "text": "ünï ☃", "deep": {"a": [1, 2.5, None, True]}},
        [1, 2],
        {},
        "text",
        {"holdfast_payload": 1},
    ]
    jobs = [source.submit("mail", one, key=f"k-{n}").id for n, one in enumerate(payloads)]
    drain(source)
    again, done, dismissed, under_way = (
        source.submit("mail", {"n": n}, key=f"s-{n}").id for n in range(4)
    )
    drain(source)
    for job_id in (again, done, under_way):
        remediated(source, job_id)
    source.dead.replay(again, by="ada")
    drain(source)
    gateway.down = False
    source.dead.replay(done, by="ada")
    drain(source)
    source.dead.resolve(dismissed, note="not needed", by="ada", unreplayed=True)
    source.dead.replay(under_way, by="ada")

    first = export(source, folder)
    target.clock.advance(3600)
    results = imported(target, folder)
    second = export(target, tmp_path / "second")

    assert results == [("imported", None)] * len(first)
    assert contents(tmp_path / "second") == contents(folder)
    assert len(second) == len(jobs) + 4
    statuses = {
        entry.error_details["holdfast"]["job_id"]: (entry.status.value, entry.processed)
        for entry in first
    }
    assert [statuses[job_id] for job_id in (again, done, dismissed, under_way)] == [
        ("failed", False),
        ("completed", True),
        ("failed", True),
        ("replaying", False),
    ]
    assert len(json.loads((folder / PROCESSED).read_text())) == 2
    assert target.verify() == []


def test_an_entry_of_another_program_becomes_a_letter(app: Holdfast, folder: Path, tmp_path: Path):
    put(folder, FOREIGN)

    assert imported(app, folder) == [("imported", None)]

    letter = app.dead.get(letter_id_of(FOREIGN["dlq_id"])).letter
    assert (letter.kind, letter.state, letter.stage) == (FILE, LetterState.OPEN, "notion_write")
    assert (letter.error_class, letter.attempts) == ("CIRCUIT_BREAKER_OPEN", 4)
    assert json.loads(letter.payload) == FOREIGN["original_payload"]
    assert app.dead.show(letter.id).actions[0].action == "imported"
    assert [entry.to_json() for entry in export(app, tmp_path / "second")] == [FOREIGN]
    assert app.verify() == []


def test_importing_twice_changes_nothing(app: Holdfast, folder: Path):
    put(folder, FOREIGN)
    imported(app, folder)
    letter_id = letter_id_of(FOREIGN["dlq_id"])
    app.dead.triage(letter_id, cause="data", by="ada")
    before = app.dead.get(letter_id).letter

    assert imported(app, folder) == [("known", None)]
    assert app.dead.get(letter_id).letter == before


def test_a_letter_whose_job_is_here_is_not_made_twice(app: Holdfast, die, folder: Path):
    job_id = die(key="k")
    export(app, folder)

    assert imported(app, folder) == [("known", None)]
    assert [view.id for view in app.dead.find()] == [job_id]


BAD = {
    "no JSON": ("{", "syntax error"),
    "twice the same name": ('{"dlq_id": 1, "dlq_id": 2}', '"dlq_id" twice'),
    "no number": (json.dumps({**FOREIGN, "retry": float("nan")}), "NaN"),
    "no object": ("[]", "an object"),
    "a missing field": ({k: v for k, v in FOREIGN.items() if k != "email_id"}, "/email_id"),
    "a rule that is broken": ({**FOREIGN, "original_payload": {}}, "/original_payload"),
    "times out of order": ({**FOREIGN, "last_attempt": "2020-01-01T00:00:00Z"}, "/last_attempt"),
    "a time before all times": (
        {**FOREIGN, "created_at": "1920-01-01T00:00:00Z"},
        "between 1970 and 9999",
    ),
    "an unknown operation": ({**FOREIGN, "operation_type": "fax_send"}, "/operation_type"),
}


@pytest.mark.parametrize(("document", "why"), BAD.values(), ids=BAD)
def test_a_bad_file_is_told_with_its_reason_and_spares_the_others(
    app: Holdfast, folder: Path, document: object, why: str
):
    bad = put(
        folder, document, name="dlq_20250101_000000_bad" if isinstance(document, str) else None
    )
    put(folder, {**FOREIGN, "dlq_id": "dlq_20260101_000000_good"})

    results = list(files_of(app).import_from(folder, by="ada"))

    found = {result.path: result for result in results}
    assert found.pop(bad).outcome is Outcome.REFUSED
    assert why in str({result.path: result for result in results}[bad].error)
    assert [result.outcome for result in found.values()] == [Outcome.IMPORTED]
    assert len(app.dead.find()) == 1


def test_what_cannot_be_read_is_refused_and_what_is_hidden_is_left_alone(
    app: Holdfast, folder: Path
):
    (folder / "notion_write" / "dlq_20251106_101522_folder.json").mkdir(parents=True)
    (folder / "notion_write" / "dlq_20251106_101522_gone.json").symlink_to("nowhere")
    (folder / "notion_write" / ".letter_x.json").write_text("half")
    (folder / "README").write_text("hello")

    results = imported(app, folder)

    assert [outcome for outcome, _ in results] == ["refused", "refused"]
    assert "Is a directory" in str(results[0][1])


def test_a_file_has_to_lie_where_its_entry_belongs(app: Holdfast, folder: Path):
    put(folder, FOREIGN, name="dlq_20251106_101522_other")
    put(folder, {**FOREIGN, "operation_type": "gmail_fetch"})
    misplaced = folder / "infisical_fetch"
    misplaced.mkdir()
    (misplaced / f"{FOREIGN['dlq_id']}.json").write_text(json.dumps(FOREIGN))

    results = imported(app, folder)

    assert [outcome for outcome, _ in results] == ["imported", "refused", "refused"]
    assert all("the file's name promises" in str(error) for _, error in results[1:])


def test_an_id_names_one_entry(app: Holdfast, folder: Path):
    put(folder, {**FOREIGN, "operation_type": "gmail_fetch"})
    put(folder, FOREIGN)

    results = imported(app, folder)

    assert [outcome for outcome, _ in results] == ["imported", "refused"]
    assert "the id of another file" in str(results[1][1])


def test_other_operations_are_taken_when_they_are_named(app: Holdfast, folder: Path):
    put(folder, {**FOREIGN, "operation_type": "fax_send"})

    refused = imported(app, folder)
    taken = list(files_of(app).import_from(folder, by="ada", operation_types=("fax_send",)))

    assert refused[0][0] == "refused"
    assert taken[0].outcome is Outcome.IMPORTED


def test_what_was_processed_elsewhere_is_not_to_be_replayed_here(
    app: Holdfast, folder: Path, tmp_path: Path
):
    put(folder, FOREIGN)
    (folder / PROCESSED).write_text(json.dumps([FOREIGN["dlq_id"], "dlq_of_another"]))

    imported(app, folder)

    letter = app.dead.get(letter_id_of(FOREIGN["dlq_id"])).letter
    assert letter.state is LetterState.RESOLVED
    assert app.verify() == []
    (entry,) = export(app, tmp_path / "second")
    assert entry.processed
    assert json.loads((tmp_path / "second" / PROCESSED).read_text()) == [FOREIGN["dlq_id"]]


def test_processed_ids_that_cannot_be_read_stop_the_import(app: Holdfast, folder: Path):
    put(folder, FOREIGN)
    (folder / PROCESSED).write_text('{"not": "a list"}')

    with pytest.raises(InvalidDocument, match="a list of ids"):
        imported(app, folder)
    with pytest.raises(UsageError, match="is no folder"):
        imported(app, folder / "nothing")
    assert app.dead.find() == []


def test_processed_ids_of_before_are_kept(app: Holdfast, die, folder: Path):
    folder.mkdir()
    (folder / PROCESSED).write_text('["dlq_of_before"]')
    die()

    export(app, folder)

    assert json.loads((folder / PROCESSED).read_text()) == ["dlq_of_before"]


def test_a_letter_from_a_file_is_submitted_as_a_job_under_its_own_id(
    app: Holdfast, folder: Path, gateway: Gateway, tmp_path: Path
):
    put(folder, FOREIGN)
    imported(app, folder)
    letter_id = letter_id_of(FOREIGN["dlq_id"])
    gateway.down = False

    with pytest.raises(StepMissing):
        files_of(app).replay(letter_id, "mail", by="ada")
    remediated(app, letter_id)
    letter, job_id, created = files_of(app).replay(letter_id, "mail", by="ada", reason="mended")
    drain(app)

    view = app.job(job_id)
    assert created
    assert (view.state, view.result, view.job.key) == (
        JobState.COMPLETE,
        FOREIGN["original_payload"],
        FOREIGN["dlq_id"],
    )
    assert (letter.state, letter.note) == (
        LetterState.RESOLVED,
        f"submitted to mail as job {job_id}",
    )
    seen = app.dead.show(letter_id)
    assert not seen.view.dismissed
    assert (seen.actions[0].action, seen.actions[0].reason) == ("replayed", "mended")
    assert app.verify() == []
    with pytest.raises(StepMissing):
        files_of(app).replay(letter_id, "mail", by="ada")
    (entry,) = export(app, tmp_path / "second")
    assert (entry.status, entry.processed) == (DLQStatus.COMPLETED, True)
    assert entry.replayed_at is not None


def test_submitted_twice_it_is_one_job(app: Holdfast, folder: Path):
    put(folder, FOREIGN)
    imported(app, folder)
    letter_id = letter_id_of(FOREIGN["dlq_id"])
    remediated(app, letter_id)
    # A crash after the job was made, and before the letter was written.
    first = app.submit("mail", FOREIGN["original_payload"], key=FOREIGN["dlq_id"])

    _, job_id, created = files_of(app).replay(letter_id, "mail", by="ada")

    assert (job_id, created) == (first.id, False)
    assert len(app.jobs()) == 1


def test_submitted_by_two_at_once_it_is_one_job(app: Holdfast, folder: Path, open_app, pipeline):
    put(folder, FOREIGN)
    imported(app, folder)
    letter_id = letter_id_of(FOREIGN["dlq_id"])
    remediated(app, letter_id)
    barrier, ids, refused = threading.Barrier(2), [], []

    def replay(one: Holdfast) -> None:
        barrier.wait()
        try:
            ids.append(files_of(one).replay(letter_id, "mail", by="ada")[1])
        except StepMissing as error:
            refused.append(error)

    threads = [threading.Thread(target=replay, args=(open_app(pipeline),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(ids)) == 1
    assert len(ids) + len(refused) == 2
    assert len(app.jobs()) == 1


@pytest.mark.parametrize("payload", [[1, 2], "text", {}, {"holdfast_payload": [1]}])
def test_any_payload_is_submitted_as_it_was(
    other: Holdfast, app: Holdfast, folder: Path, gateway: Gateway, payload: object
):
    app.submit("mail", payload)
    drain(app)
    (entry,) = export(app, folder)
    imported(other, folder)
    letter_id = letter_id_of(entry.dlq_id)
    remediated(other, letter_id)
    gateway.down = False

    _, job_id, _ = files_of(other).replay(letter_id, "mail", by="ada")
    drain(other)

    assert other.job(job_id).payload == payload


def test_a_redacted_file_has_no_secrets_and_cannot_be_replayed(
    app: Holdfast, other: Holdfast, die, folder: Path
):
    die({"email_id": "1", "password": "hunter2-and-more", "subject": "hello"})

    (entry,) = export(app, folder, redact=True)
    imported(other, folder)

    assert "hunter2" not in str(contents(folder))
    assert entry.original_payload["subject"] == "hello"
    letter_id = letter_id_of(entry.dlq_id)
    remediated(other, letter_id)
    with pytest.raises(UsageError, match="without --redact"):
        files_of(other).replay(letter_id, "mail", by="ada")
    assert other.jobs() == []


def test_secrets_in_the_errors_of_others_are_taken_out(app: Holdfast, folder: Path):
    secret = "password=hunter2-and-more"
    details = {**FOREIGN["error_details"], "error_message": secret, "stack_trace": secret}
    put(folder, {**FOREIGN, "error_details": {**details, "note": secret}})

    imported(app, folder)

    letter = app.dead.get(letter_id_of(FOREIGN["dlq_id"])).letter
    assert "hunter2" not in f"{letter.message}{letter.stack}{letter.origin}"


def test_letters_from_files_are_no_part_of_a_replay_of_many(app: Holdfast, die, folder: Path):
    put(folder, FOREIGN)
    imported(app, folder)
    die(key="k")

    view = app.replays.start(
        "outage", LetterFilter(), by="ada", cause="transient", evidence="it answers"
    )

    assert view.counts == Counts(pending=1, skipped=1)
    notes = {item.note for item in app.replays.items(view.id)}
    assert notes == {None, FROM_A_FILE}


def test_a_letter_whose_job_is_gone_cannot_be_written(app: Holdfast, die):
    letter = app.dead.get(die()).letter

    with pytest.raises(UsageError, match="its job is no longer there"):
        entry_of(letter, None)


ODD_DETAILS = {
    "an unknown exception": ({"error_type": "7!"}, "UNKNOWN"),
    "a class of no form": (
        {"error_type": "a.b.Http2Error", "holdfast": {"error_class": "x"}},
        None,
    ),
    "facts that are none": ({"holdfast": "yes"}, "CIRCUIT_BREAKER_OPEN"),
    "facts of wrong kinds": (
        {
            "holdfast": {
                "category": "MOON",
                "severity": [],
                "retryable": "yes",
                "http_status": 7,
                "deaths": -1,
                "pipeline": 5,
                "job_id": "no id",
            }
        },
        "CIRCUIT_BREAKER_OPEN",
    ),
}


@pytest.mark.parametrize(("changes", "error_class"), ODD_DETAILS.values(), ids=ODD_DETAILS)
def test_details_nobody_expected_make_a_letter_all_the_same(
    app: Holdfast, folder: Path, changes: dict[str, object], error_class: str | None
):
    document = {**FOREIGN, "error_details": {**FOREIGN["error_details"], **changes}}

    letter = letter_of(DLQEntry.from_json(document), now=app.clock.now())
    put(folder, document)

    assert letter.error_class == (error_class or "HTTP2_ERROR")
    assert (letter.category, letter.severity, letter.deaths) == ("PERMANENT", "ERROR", 1)
    assert imported(app, folder) == [("imported", None)]


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path):
    path = tmp_path / "a" / "file"
    write_whole(path, b"old")
    write_whole(path, b"new")
    blocked = tmp_path / "a" / "folder"
    (blocked / "inside").mkdir(parents=True)

    with pytest.raises(OSError, match="directory"):
        write_whole(blocked, b"never")

    assert path.read_bytes() == b"new"
    assert sorted(item.name for item in (tmp_path / "a").iterdir()) == ["file", "folder"]
