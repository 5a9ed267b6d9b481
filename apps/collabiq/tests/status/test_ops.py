"""What needs a person, the figures, the alert rules and the dashboard: they name what exists."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from collabiq.rows import (
    begin_look,
    end_look,
    finish_email,
    notice_emails,
    open_mailbox,
    refuse_grant,
    set_listed,
    set_watched,
)
from collabiq.settings.config import Config
from collabiq.status.observing import Observing
from holdfast import Holdfast
from holdfast.cli.main import program
from holdfast.metrics import BY_NAME
from holdfast.systems import Need
from holdfast.testing import ManualClock
from tests.docs.markdown import ROOT

MAILBOX = "collab@example.com"


class Observed:
    """An engine with collabiq's tables, and what is shown of it."""

    def __init__(self, engine: Holdfast, config: Config) -> None:
        self.engine, self.config = engine, config

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.engine.clock.now() / 1_000_000, UTC)

    def needs(self) -> list[Need]:
        return list(Observing(self.config).needs(self.engine))

    def subjects(self) -> list[str]:
        return [each.subject for each in self.needs()]

    def values(self) -> dict[str, float]:
        return {
            figure.name + "".join(f"/{value}" for value in figure.labels.values()): figure.value
            for figure in Observing(self.config).figures(self.engine)
        }

    def polled(self) -> None:
        with self.engine.transaction() as tx:
            open_mailbox(tx, MAILBOX)
            begin_look(tx, MAILBOX, until=tx.now + timedelta(seconds=9))
            end_look(
                tx,
                MAILBOX,
                until=tx.now + timedelta(seconds=9),
                next_at=tx.now,
                history_id="100",
            )


@pytest.fixture
def observed(database_url: str, tmp_path: Path) -> Iterator[Observed]:
    config = Config(
        email_address=MAILBOX, data_dir=tmp_path / "data" / "deep", data_min_free_bytes=0
    )
    with Holdfast(
        database_url, tables={"collabiq": "collabiq.tables"}, clock=ManualClock()
    ) as engine:
        yield Observed(engine, config)


def exported(what: str) -> str:
    answer = CliRunner().invoke(program, ["export", what, "--system", "collabiq"])
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def rules() -> list[dict]:
    return [
        rule for group in yaml.safe_load(exported("alerts"))["groups"] for rule in group["rules"]
    ]


def test_rules_and_panels_name_figures_that_exist(observed: Observed):
    observed.config = replace(observed.config, gmail_topic="projects/p/topics/t")
    own = {name.partition("/")[0] for name in observed.values()}
    panels = json.loads(exported("grafana"))["panels"]
    expressions = [rule["expr"] for rule in rules()]
    expressions += [target["expr"] for panel in panels for target in panel.get("targets", ())]

    named = {
        name
        for text in expressions
        for name in re.findall(r"\b(?:collabiq|holdfast|jobs)_\w+", re.sub(r'"[^"]*"', "", text))
    }

    assert named <= own | set(BY_NAME)
    assert own <= named, "every figure is on the dashboard or in a rule"


def test_every_rule_has_its_row_in_the_runbook():
    runbook = (ROOT / "docs" / "runbook.md").read_text("utf-8")
    section = runbook.partition("## Mails do not become rows")[2].partition("\n## ")[0]

    for rule in rules():
        assert f"`{rule['alert']}`" in section
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert rule["annotations"]["runbook_url"].endswith("#mails-do-not-become-rows")


def test_a_system_that_has_done_nothing_needs_nobody(observed: Observed):
    assert observed.needs() == []


def test_refused_credentials_are_critical_with_what_to_do_until_somebody_signs_in(
    observed: Observed,
):
    observed.polled()
    with observed.engine.transaction() as tx:
        refuse_grant(tx, MAILBOX, "fingerprint")

    (need,) = observed.needs()
    value = observed.values()["collabiq_token_refused"]
    with observed.engine.transaction() as tx:
        refuse_grant(tx, MAILBOX, None)

    assert (need.urgency, need.command, value) == ("critical", "collabiq gmail login", 1.0)
    assert "collabiq gmail login" in need.advice
    assert observed.needs() == []
    assert observed.values()["collabiq_token_refused"] == 0.0


def test_a_mailbox_that_is_not_polled_is_critical_after_a_while(observed: Observed):
    observed.polled()
    observed.engine.clock.advance(300)
    before = observed.subjects()
    observed.engine.clock.advance(1)

    (need,) = observed.needs()

    assert before == []
    assert need.sentence == "The mailbox has not been polled for 5 minutes."
    assert observed.values()["collabiq_poll_age_seconds"] == 301.0


def test_rare_polls_are_not_late(observed: Observed):
    observed.config = replace(observed.config, poll_interval_s=600.0)
    observed.polled()
    observed.engine.clock.advance(2_400)

    assert observed.needs() == []


def test_a_disk_without_room_is_critical(observed: Observed):
    observed.config = replace(observed.config, data_min_free_bytes=2**60)

    (need,) = observed.needs()

    assert need.urgency == "critical"
    assert "no new mail is taken" in need.sentence
    assert observed.values()["collabiq_data_free_bytes"] > 0


def test_columns_that_the_table_lacks_are_named(observed: Observed):
    columns = [
        {"name": "제목", "kind": "title", "options": []},
        {"name": "Email ID", "kind": "rich_text", "options": []},
    ]
    with observed.engine.transaction() as tx:
        set_listed(tx, "schema", {"id": "s", "database_id": "d", "columns": columns})

    (need,) = observed.needs()

    assert "담당자" in need.sentence
    assert need.urgency == "warning"
    assert observed.values()["collabiq_columns_missing"] == need.count == 15


def test_mails_to_review_and_mails_that_wait_are_counted(observed: Observed):
    ids = ["19a3f3f856f00001", "19a3f3f856f00002", "19a3f3f856f00003"]
    with observed.engine.transaction() as tx:
        notice_emails(tx, ids, mailbox=MAILBOX, source="gmail")
        for email_id in ids[:2]:
            finish_email(tx, email_id, status="needs_review", review=["low confidence"])
    observed.engine.clock.advance(40)

    (need,) = observed.needs()
    values = observed.values()

    assert need.sentence == "2 mails wait to be looked at."
    assert values["collabiq_emails/needs_review"] == 2
    assert values["collabiq_emails_today/pending"] == 1
    assert values["collabiq_oldest_pending_seconds"] == 40.0


def test_a_watch_is_shown_only_where_one_is_wanted(observed: Observed):
    without = observed.values()
    observed.config = replace(observed.config, gmail_topic="projects/p/topics/t")
    with observed.engine.transaction() as tx:
        set_watched(tx, MAILBOX, until=tx.now + timedelta(days=7))

    assert "collabiq_watch_left_seconds" not in without
    assert observed.values()["collabiq_watch_left_seconds"] == 7 * 86_400
