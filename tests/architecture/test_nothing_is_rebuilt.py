"""What is stored is data: no class is looked up, no code is run and nothing unpickled for it."""

import ast
import json
import pickle
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast import Holdfast, JobState, Pipeline
from holdfast.core.values.failure import Failure
from holdfast.errors import InvalidDocument
from holdfast.runtime.lanes.child import event_from
from holdfast.testing import ManualClock, Script, run_inline

SOURCE = Path(holdfast.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
REBUILDS = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle"}
IMPORTS_BY_NAME = {
    "__init__.py",  # the module of a public name that has moved
    "cli/shell/app_location.py",  # what an operator names with -A
    "runtime/lanes/child.py",  # the handler that the parent's own code names
}


def tree_of(file: Path) -> ast.AST:
    return ast.parse(file.read_text("utf-8"))


def imported(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


def called(tree: ast.AST) -> set[str]:
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {
        function.id if isinstance(function, ast.Name) else function.attr
        for function in functions
        if isinstance(function, ast.Name | ast.Attribute)
    }


def means_of_rebuilding(file: Path) -> set[str]:
    tree = tree_of(file)
    imports, calls = imported(tree), called(tree)
    found = imports & REBUILDS | calls & {"eval", "exec", "__import__"}
    if "importlib" in imports and file.relative_to(SOURCE).as_posix() not in IMPORTS_BY_NAME:
        found |= calls & {"import_module", "spec_from_file_location"}
    if "multiprocessing" in imports:
        # These unpickle what they receive.
        found |= calls & {"recv", "send"}
    return found


def test_no_file_can_turn_stored_bytes_into_objects_of_any_class():
    found = {str(file.relative_to(SOURCE)): means_of_rebuilding(file) for file in FILES}

    assert {name: means for name, means in found.items() if means} == {}
    assert len(found) > 100


class Bomb:
    def __reduce__(self):
        return (sys.exit, (99,))


PICKLED = pickle.dumps(Bomb()).decode("latin-1")
PLANTED = [
    {"exc_module": "antigravity", "exc_type": "main", "exc_message": ["x"]},
    {"error_class": "INVALID", "exception_type": "antigravity.main", "message": "x"},
    {"py/object": "antigravity.main", "py/reduce": [{"py/function": "os.system"}]},
    {"__class__": "antigravity", "message": PICKLED},
    PICKLED,
    ["antigravity", "main"],
    7,
    None,
]


@pytest.mark.parametrize("planted", PLANTED, ids=range(len(PLANTED)))
def test_whatever_was_planted_in_a_row_is_read_as_data(planted, database_url: str):
    sys.modules.pop("antigravity", None)
    pipeline = Pipeline("letters")
    pipeline.stage(name="send")(Script(ValueError("no"), then="sent").handler)
    app = Holdfast(database_url, pipelines=[pipeline], clock=ManualClock())
    job = app.submit(pipeline, {"to": "ada"})
    run_inline(app, until=job)
    table = "holdfast_job" if database_url.startswith("sqlite") else "holdfast.job"
    mark = "?" if database_url.startswith("sqlite") else "%s"
    text = json.dumps(planted)
    with app.store.transaction() as connection:
        connection.execute(f"update {table} set error = {mark}, payload = {mark}", (text, text))

    view = app.job(job.id)

    assert view.error == (planted if isinstance(planted, dict) else None)
    assert view.payload == planted
    assert app.history(job.id)
    assert app.retry(job.id, by="ada").state is JobState.QUEUED
    run_inline(app, until=job)
    assert app.job(job.id).state is JobState.COMPLETE
    assert "antigravity" not in sys.modules
    app.close()


@pytest.mark.parametrize("planted", PLANTED[:4], ids=range(4))
def test_a_failure_is_read_as_facts_alone(planted):
    sys.modules.pop("antigravity", None)
    facts = {"error_class": "INVALID", "message": "x", "category": "PERMANENT", "retryable": False}

    failure = Failure.from_document(facts | planted)

    assert type(failure) is Failure
    with pytest.raises(InvalidDocument):
        Failure.from_document({"exc_module": "antigravity"})
    assert "antigravity" not in sys.modules


def test_a_child_that_sends_a_pickle_is_not_listened_to():
    with pytest.raises(ValueError, match=r"decode|JSON|Expecting"):
        event_from(pickle.dumps(Bomb()))
