"""What has been kept long enough goes, and what it belonged to is told as expired."""

import os
from datetime import UTC, datetime, timedelta

import pytest

from converter.presentation import result_name
from converter.refusals import Expired
from converter.retention import MAX_AT_ONCE, job_retention, purge, retention_chore
from converter.system import SYSTEM
from holdfast.retention import Retention

DAYS = 30


def made_older(folder, *, days):
    for path in folder.iterdir():
        then = (datetime.now(UTC) - timedelta(days=days)).timestamp()
        os.utime(path, (then, then))


def test_what_is_older_goes_and_what_is_younger_stays(converter, tmp_path):
    old = converter.take().job.id
    converter.run()
    for name in ("uploads", "results"):
        made_older(tmp_path / name, days=DAYS + 1)
    young = converter.take(owner="bob").job.id
    converter.run()

    retention_chore(
        converter.app, uploads=converter.uploads, results=converter.results, keep_days=DAYS
    )()

    with pytest.raises(Expired):
        converter.conversions.result(old, owner="ada")
    assert converter.results.exists(result_name(young))
    assert len(list((tmp_path / "uploads").iterdir())) == 1


def test_one_turn_removes_so_many_and_the_next_the_rest(uploads, tmp_path):
    for number in range(MAX_AT_ONCE + 1):
        (tmp_path / "uploads" / f"{number}.pdf").touch()
    later = datetime.now(UTC) + timedelta(days=1)

    assert purge([uploads], before=later) == {"uploads": MAX_AT_ONCE}
    assert purge([uploads], before=later) == {"uploads": 1}


def test_jobs_are_known_for_a_week_longer_than_their_files_are_kept(tmp_path):
    folders = {"UPLOADS_DIR": f"{tmp_path / 'u'}", "RESULTS_DIR": f"{tmp_path / 'r'}"}
    week_s, kept_s = 7 * 24 * 3600, DAYS * 24 * 3600

    assert job_retention(keep_days=DAYS) == Retention(
        complete=kept_s + week_s, cancelled=kept_s + week_s
    )
    built = SYSTEM.build(folders | {"RETENTION_DAYS": "0.5"})
    assert built.retention.complete == 12 * 3600 + week_s
