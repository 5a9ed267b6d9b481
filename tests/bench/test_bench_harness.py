import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.figure import Cost, Count, Delay, Growth, Rate, Share, Tail, middle, percentile, tail_of
from bench.measure import Conditions
from bench.measures import redact
from bench.measures.classify import costs_of_classification
from bench.measures.decide import CASES
from bench.measures.guard import KINDS
from bench.measures.memory import slope
from bench.measures.redact import costs_of_redaction
from bench.report import Row, ratio, verdict, write
from bench.scaling.size import GIGABYTE, NoRoom, Size, checked_room
from bench.targets import EMPTY_TABLE, Target
from holdfast.core.job import event

PROJECT = Path(__file__).parents[2]


def row(workload, system, figure, *, error=None):
    return Row(
        workload=workload,
        system=system,
        version="1",
        jobs=100,
        repeats=() if figure is None else (figure,),
        figure=figure,
        error=error,
    )


def test_a_ratio_is_our_figure_over_theirs():
    rows = [
        row("drain-one-stage", "holdfast", Rate(300)),
        row("drain-one-stage", "PgQueuer", Rate(100)),
        row("submit-bulk", "PgQueuer", Rate(1)),
    ]
    assert ratio(rows[1], rows) == 3
    assert ratio(rows[0], rows) == 1
    assert ratio(rows[2], rows) is None


def test_delays_are_compared_by_their_median_and_claims_by_their_tail():
    delays = [
        row("latency", "holdfast", Delay(1, 30)),
        row("latency", "PgQueuer", Delay(2, 10)),
    ]
    tails = [
        row("claim-10-sqlite", "holdfast", Tail(1, 30)),
        row("claim-10-sqlite", EMPTY_TABLE, Tail(2, 10)),
    ]
    assert ratio(delays[1], delays) == 0.5
    assert ratio(tails[1], tails) == 3


def test_a_row_without_a_figure_has_neither_ratio_nor_verdict():
    rows = [
        row("drain-one-stage", "holdfast", Rate(300)),
        row("drain-one-stage", "PgQueuer", None, error="it broke"),
    ]
    assert ratio(rows[1], rows) is None
    assert verdict(rows[1], rows) is None
    ours_failed = row("drain-one-stage", "holdfast", None, error="it broke")
    theirs = row("drain-one-stage", "PgQueuer", Rate(100))
    assert ratio(theirs, [ours_failed, theirs]) is None


@pytest.mark.parametrize(
    ("workload", "figure", "met"),
    [
        ("decide-done", Cost(5.0), True),
        ("decide-done", Cost(5.1), False),
        ("classify-timeout", Cost(20.0), True),
        ("classify-timeout", Cost(20.1), False),
        ("redact-traceback-4-kb", Cost(1_000), True),
        ("redact-traceback-4-kb", Cost(1_001), False),
        ("guard-call", Cost(5.0), True),
        ("guard-await", Cost(5.1), False),
        ("idle-sqlite", Share(1.9), True),
        ("idle-sqlite", Share(2.1), False),
        ("memory-postgresql", Growth(-3), True),
        ("memory-postgresql", Growth(5.5), False),
        ("kept-objects-sqlite", Count(1), False),
        ("left-threads-sqlite", Count(0), True),
        ("left-descriptors-postgresql", Count(1), False),
    ],
)
def test_figures_of_our_own_are_held_to_their_bounds(workload, figure, met):
    rows = [row(workload, "holdfast", figure)]
    assert verdict(rows[0], rows).met is met
    assert ratio(rows[0], rows) is None


def test_ratios_are_held_to_their_bounds():
    rows = [
        row("latency", "holdfast", Delay(1, 2)),
        row("latency", "PgQueuer", Delay(0.9, 2)),
        row("drain-one-stage", "holdfast", Rate(250)),
        row("drain-one-stage", "PgQueuer", Rate(100)),
        row("latency", "DBOS", Delay(50, 60)),
    ]
    assert not verdict(rows[1], rows).met
    assert verdict(rows[3], rows).met
    assert verdict(rows[4], rows) is None
    assert (str(Target(2.5)), str(Target(1, less_is_better=True))) == ("≥ 2.5", "≤ 1")


def test_a_cost_is_compared_where_there_is_a_peer():
    rows = [
        row("guard-call", "holdfast", Cost(2)),
        row("guard-call", "tenacity, pybreaker", Cost(40)),
    ]
    assert ratio(rows[0], rows) is None
    assert ratio(rows[1], rows) == 0.05
    assert verdict(rows[0], rows).met
    assert verdict(rows[1], rows) is None


def test_a_guarded_call_is_measured_against_the_bare_one():
    done = subprocess.run(
        [sys.executable, "-m", "bench.guards.holdfast", "measure", '{"batches": 5}'],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
        timeout=50,
    )
    said = json.loads(done.stdout)
    assert (said["event"], said["name"]) == ("measured", "holdfast")
    assert all(0 < said[kind] < 1_000 for kind in KINDS.values())


def test_the_99th_percentile_leaves_one_of_a_hundred_out():
    assert percentile(range(1, 101), 0.99) == 99
    assert percentile(range(1, 201), 0.99) == 198
    assert percentile([7], 0.99) == 7
    assert tail_of([3_000_000, 1_000_000, 2_000_000]) == Tail(2.0, 3.0)


def test_the_middle_of_repeats_is_taken_number_by_number():
    assert middle([Rate(1), Rate(9), Rate(2)]) == Rate(2)
    assert middle([Delay(1, 30), Delay(3, 10), Delay(2, 20)]) == Delay(2, 20)


def test_the_slope_of_memory_looks_at_the_second_half_alone():
    warming_up = [(runs, 1000 * runs) for runs in range(10)]
    flat = [(runs, 10_000) for runs in range(10, 20)]
    growing = [(runs, 10_000 + 3 * runs) for runs in range(10, 20)]
    assert slope(warming_up + flat) == pytest.approx(0)
    assert slope(warming_up + growing) == pytest.approx(3)


def test_every_kind_of_event_has_its_decision_timed():
    kinds = {kind for kind in vars(event).values() if isinstance(kind, type)}
    timed = {type(each) for _, each in CASES.values()}
    assert timed == {kind for kind in kinds if kind.__module__ == event.__name__}


def test_exceptions_and_texts_are_timed_only_when_they_come_out_right():
    quick = Conditions({}, quick=True)
    measured = [*costs_of_classification(quick), *costs_of_redaction(quick)]
    assert {each.workload.partition("-")[0] for each in measured} == {"classify", "redact"}
    assert all(each.figure.microseconds > 0 for each in measured)
    assert len(redact.CASES["traceback-4-kb"]) == 4096


def test_a_table_that_does_not_fit_is_refused_before_it_is_made():
    assert "GB" in checked_room("sqlite", Size(1, 1), in_memory=False)
    with pytest.raises(NoRoom, match="10,000,000,000,000 finished"):
        checked_room("postgresql", Size(10_000_000_000_000, 0), in_memory=False)
    with_ledger = Size(1_000_000, 0, ledger=True).bytes_needed("sqlite")
    assert with_ledger > Size(1_000_000, 0).bytes_needed("sqlite") > GIGABYTE // 2


def test_rows_are_written_with_figure_ratio_and_verdict(tmp_path):
    rows = [
        row("drain-sqlite", "holdfast", Rate(400)),
        row("drain-sqlite", "Huey", Rate(100)),
        row("drain-one-stage", "DBOS", None, error="it broke"),
        row("decide-done", "holdfast", Cost(2.5)),
    ]
    path = tmp_path / "rows.json"
    write(path, {"cores": 2}, rows, tables={"more": 1})
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["machine"] == {"cores": 2}
    assert document["tables"] == {"more": 1}
    assert document["rows"][1] == {
        "workload": "drain-sqlite",
        "system": "Huey",
        "version": "1",
        "per_second": 100,
        "ratio": 4.0,
        "target": "≥ 3",
        "met": True,
        "jobs": 100,
        "repeats": [{"per_second": 100}],
    }
    assert document["rows"][2]["error"] == "it broke"
    assert document["rows"][2]["ratio"] is None
    assert document["rows"][3]["microseconds"] == 2.5
    assert document["rows"][3]["met"] is True


# Ten seconds of computing in six processes; the others of this folder try its parts.
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_quick_run_of_holdfast_alone_writes_its_row(tmp_path):
    output = tmp_path / "latest.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench.run", "--quick", "--only", "drain-sqlite"),
            *("--systems", "holdfast", "--output", output),
        ],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(output.read_text(encoding="utf-8"))
    (only,) = document["rows"]
    assert (only["workload"], only["system"]) == ("drain-sqlite", "holdfast")
    assert only["per_second"] > 0
    assert only["ratio"] == 1.0
    assert document["machine"]["postgresql_fsync"].startswith("off")
    assert "drain-sqlite" in done.stdout
