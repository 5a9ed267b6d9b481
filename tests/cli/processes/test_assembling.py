"""The engine that systems run on: what they need, as the operator changed it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from holdfast import Holdfast
from holdfast.cli.processes.up import engine_of
from holdfast.cli.shell.invocation import Invocation
from holdfast.core.values.retention import DAY_S
from holdfast.deliveries import CourierOptions
from holdfast.retention import Retention
from holdfast.secrecy import redacted_value
from tests.cli.processes.test_site import built


@contextmanager
def assembled(folder: Path, *wanted: Retention) -> Iterator[Holdfast]:
    invocation = Invocation()
    invocation.give("database_url", "--database-url", f"sqlite:///{folder / 'systems.db'}")
    with click.Context(click.Command("up")):
        yield engine_of(
            invocation,
            [built(f"system-{number}", retention=each) for number, each in enumerate(wanted)],
        )


def test_jobs_are_kept_for_as_long_as_the_system_that_needs_them_longest(tmp_path: Path):
    with assembled(
        tmp_path, Retention(complete=40 * DAY_S), Retention(complete=DAY_S, cancelled=50 * DAY_S)
    ) as engine:
        assert engine.retention == Retention(complete=40 * DAY_S, cancelled=50 * DAY_S)


def test_what_an_operator_set_counts_before_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOLDFAST_KEEP_COMPLETE", "1d")
    with assembled(tmp_path, Retention(complete=40 * DAY_S, cancelled=50 * DAY_S)) as engine:
        assert engine.retention == Retention(complete=DAY_S, cancelled=50 * DAY_S)


def test_a_lease_that_was_set_counts_for_deliveries_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with assembled(tmp_path) as usual:
        assert usual.dispatch.options == CourierOptions()
    monkeypatch.setenv("WORKER_LEASE_TTL_SEC", "4")
    with assembled(tmp_path) as quick:
        assert (quick.dispatch.options.lease, quick.dispatch.options.timeout) == (4, 2)


def test_what_stands_under_a_systems_secret_names_is_shown_to_nobody(tmp_path: Path):
    invocation = Invocation()
    invocation.give("database_url", "--database-url", f"sqlite:///{tmp_path / 'systems.db'}")
    with click.Context(click.Command("up")):
        engine_of(invocation, [built("letters", secret_names=("penpals",))])

    assert "ada@example.org" not in str(redacted_value({"penpals": ["ada@example.org"]}))
