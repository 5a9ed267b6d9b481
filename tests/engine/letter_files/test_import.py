"""Files of dead letters, ours and others', read back."""

import json
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.core.dead_letter.dead_letter import FILE, LetterState
from holdfast.errors import InvalidDocument, UsageError
from holdfast.letter_files.entry import letter_id_of, letter_of
from holdfast.letter_files.files import PROCESSED, Outcome
from holdfast.letter_files.form import PLAIN_FORM
from tests.engine.letter_files.folders import FOREIGN, export, files_of, imported, put


def test_an_entry_of_another_program_becomes_a_letter(app: Holdfast, folder: Path, tmp_path: Path):
    put(folder, FOREIGN)

    assert imported(app, folder) == [("imported", None)]

    letter = app.dead.get(letter_id_of(FOREIGN["entry_id"])).letter
    assert (letter.kind, letter.state, letter.stage) == (FILE, LetterState.OPEN, "row_write")
    assert (letter.error_class, letter.attempts) == ("CIRCUIT_BREAKER_OPEN", 4)
    assert json.loads(letter.payload) == FOREIGN["original_payload"]
    assert app.dead.show(letter.id).actions[0].action == "imported"
    assert [PLAIN_FORM.write(entry) for entry in export(app, tmp_path / "second")] == [FOREIGN]
    assert app.verify() == []


def test_importing_twice_changes_nothing(app: Holdfast, folder: Path):
    put(folder, FOREIGN)
    imported(app, folder)
    letter_id = letter_id_of(FOREIGN["entry_id"])
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
    "twice the same name": ('{"entry_id": 1, "entry_id": 2}', '"entry_id" twice'),
    "no number": (json.dumps({**FOREIGN, "retry": float("nan")}), "NaN"),
    "no object": ("[]", "an object"),
    "a missing field": ({k: v for k, v in FOREIGN.items() if k != "subject"}, "/subject"),
    "a rule that is broken": ({**FOREIGN, "original_payload": {}}, "/original_payload"),
    "times out of order": ({**FOREIGN, "last_attempt": "2020-01-01T00:00:00Z"}, "/last_attempt"),
    "a time before all times": (
        {**FOREIGN, "created_at": "1920-01-01T00:00:00Z"},
        "between 1970 and 9999",
    ),
    "an id of another form": ({**FOREIGN, "entry_id": "dlq_20251106_101522_a"}, "/entry_id"),
}


@pytest.mark.parametrize(("document", "why"), BAD.values(), ids=BAD)
def test_a_bad_file_is_told_with_its_reason_and_spares_the_others(
    app: Holdfast, folder: Path, document: object, why: str
):
    bad = put(
        folder, document, name="letter_20250101_000000_bad" if isinstance(document, str) else None
    )
    put(folder, {**FOREIGN, "entry_id": "letter_20260101_000000_good"})

    results = list(files_of(app).import_from(folder, by="ada"))

    found = {result.path: result for result in results}
    assert found.pop(bad).outcome is Outcome.REFUSED
    assert why in str({result.path: result for result in results}[bad].error)
    assert [result.outcome for result in found.values()] == [Outcome.IMPORTED]
    assert len(app.dead.find()) == 1


def test_what_cannot_be_read_is_refused_and_what_is_hidden_is_left_alone(
    app: Holdfast, folder: Path
):
    (folder / "row_write" / "letter_20251106_101522_folder.json").mkdir(parents=True)
    (folder / "row_write" / "letter_20251106_101522_gone.json").symlink_to("nowhere")
    (folder / "row_write" / ".letter_x.json").write_text("half")
    (folder / "README").write_text("hello")

    results = imported(app, folder)

    assert [outcome for outcome, _ in results] == ["refused", "refused"]
    assert "Is a directory" in str(results[0][1])


def test_a_file_has_to_lie_where_its_entry_belongs(app: Holdfast, folder: Path):
    put(folder, FOREIGN, name="letter_20251106_101522_other")
    put(folder, {**FOREIGN, "operation_type": "mail_fetch"})
    misplaced = folder / "secret_fetch"
    misplaced.mkdir()
    (misplaced / f"{FOREIGN['entry_id']}.json").write_text(json.dumps(FOREIGN))

    results = imported(app, folder)

    assert [outcome for outcome, _ in results] == ["imported", "refused", "refused"]
    assert all("the file's name promises" in str(error) for _, error in results[1:])


def test_an_id_names_one_entry(app: Holdfast, folder: Path):
    put(folder, {**FOREIGN, "operation_type": "mail_fetch"})
    put(folder, FOREIGN)

    results = imported(app, folder)

    assert [outcome for outcome, _ in results] == ["imported", "refused"]
    assert "the id of another file" in str(results[1][1])


def test_only_operations_that_are_named_are_taken(app: Holdfast, folder: Path):
    put(folder, {**FOREIGN, "operation_type": "fax_send"})

    files = files_of(app)
    refused = list(files.import_from(folder, by="ada", operation_types=("row_write",)))
    taken = list(files.import_from(folder, by="ada", operation_types=("fax_send",)))

    assert refused[0].outcome is Outcome.REFUSED
    assert taken[0].outcome is Outcome.IMPORTED


def test_what_was_processed_elsewhere_is_not_to_be_replayed_here(
    app: Holdfast, folder: Path, tmp_path: Path
):
    put(folder, FOREIGN)
    (folder / PROCESSED).write_text(json.dumps([FOREIGN["entry_id"], "letter_of_another"]))

    imported(app, folder)

    letter = app.dead.get(letter_id_of(FOREIGN["entry_id"])).letter
    assert letter.state is LetterState.RESOLVED
    assert app.verify() == []
    (entry,) = export(app, tmp_path / "second")
    assert entry.processed
    assert json.loads((tmp_path / "second" / PROCESSED).read_text()) == [FOREIGN["entry_id"]]


def test_processed_ids_that_cannot_be_read_stop_the_import(app: Holdfast, folder: Path):
    put(folder, FOREIGN)
    (folder / PROCESSED).write_text('{"not": "a list"}')

    with pytest.raises(InvalidDocument, match="a list of ids"):
        imported(app, folder)
    with pytest.raises(UsageError, match="is no folder"):
        imported(app, folder / "nothing")
    assert app.dead.find() == []


def test_secrets_in_the_errors_of_others_are_taken_out(app: Holdfast, folder: Path):
    secret = "password=hunter2-and-more"
    details = {**FOREIGN["error_details"], "error_message": secret, "stack_trace": secret}
    put(folder, {**FOREIGN, "error_details": {**details, "note": secret}})

    imported(app, folder)

    letter = app.dead.get(letter_id_of(FOREIGN["entry_id"])).letter
    assert "hunter2" not in f"{letter.message}{letter.stack}{letter.origin}"


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

    letter = letter_of(PLAIN_FORM.read(document), now=app.clock.now())
    put(folder, document)

    assert letter.error_class == (error_class or "HTTP2_ERROR")
    assert (letter.category, letter.severity, letter.deaths) == ("PERMANENT", "ERROR", 1)
    assert imported(app, folder) == [("imported", None)]
