"""A mistake of ours is not repeated, pages somebody, and is replayed once it is mended."""

import json
import os

import pytest

from apps.criticizer.tests.acceptance.buggy_system import NAME
from apps.criticizer.tests.acceptance.running import made_site
from tests.deployed.process import eventually
from tests.warm.process import ROOT


@pytest.fixture
def buggy_site(database_url, tmp_path):
    """A site whose one process has a mistake in it."""
    described = tmp_path / "installed" / "buggy-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: buggy\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(
        f"[holdfast.systems]\n{NAME} = apps.criticizer.tests.acceptance.buggy_system:SYSTEM\n"
    )
    with made_site(tmp_path, database_url, {}) as site:
        found_in = os.pathsep.join((str(described.parent), str(ROOT)))
        site.start(system=NAME, PYTHONPATH=found_in)
        yield site


def test_a_bug_is_met_once_pages_an_operator_and_is_replayed_where_it_was_once_it_is_mended(
    buggy_site,
):
    site = buggy_site
    failed = site.reviewed(recipients=["ada@example.org"])

    letter = site.letter(failed)
    assert (failed["status"], failed["stage"]) == ("dead_lettered", "llm")
    assert (letter["error_class"], letter["attempts"]) == ("BUG", 1)
    assert "AttributeError" in letter["last_stack"]
    eventually(lambda: "BUG" in {each.get("error_class") for each in alerts(site)}, "it is paged")
    assert site.mail.sends == []

    site.restart()
    assert site.act(failed, "triage", cause="code_defect").status_code == 200
    assert site.act(failed, "remediate", evidence="1.0.1 is deployed").status_code == 200
    assert site.act(failed, "replay").status_code == 200

    assert site.ended()["status"] == "succeeded"
    assert len(site.changes.calls) == 1
    assert site.mail.told() == {"ada@example.org": 1}


def alerts(site):
    """What was told to whoever is on duty."""
    lines = [json.loads(line) for line in site.said.splitlines() if line.startswith("{")]
    return [line for line in lines if line.get("event") == "alert"]
