"""Every provider is what the engine asks for, and the reference says what each promises."""

import inspect
import re
from pathlib import Path

import pytest

from holdfast.bridges.file import File
from holdfast.bridges.postmark import Postmark
from holdfast.bridges.resend import Resend
from holdfast.bridges.smtp import Smtp
from holdfast.bridges.webhook import Webhook
from holdfast.core.delivery.promise import Promise
from holdfast.runtime.deliveries.provider import LooksUp, Provider
from tests.bridges.fake_receiver import SECRET

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "providers.md"
PROVIDERS = {
    "Resend": Resend("re_123"),
    "Postmark": Postmark("token"),
    "SMTP": Smtp("mail.example.org"),
    "Webhook": Webhook(SECRET),
    "File": File("sent.jsonl"),
}
SPANS = {
    "for 24 hours": 86_400,
    "1 day": 86_400,
    "45 days": 45 * 86_400,
    "5 minutes": 300,
    "5 seconds": 5,
    "at once": 0,
    "never": None,
    "": None,
    "if the receiver says so": None,
}


def rows() -> dict[str, list[str]]:
    table = REFERENCE.read_text("utf-8").partition("## What all have in common")[0]
    found = re.findall(r"^\| \[(\w+)\]\(#\w+\) \|(.*)\|$", table, re.MULTILINE)
    return {name: [cell.strip() for cell in cells.split("|")] for name, cells in found}


def span(cell: str) -> float | None:
    return SPANS[cell.partition("(")[0].strip()]


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_provider_has_what_the_engine_asks_for(name):
    provider = PROVIDERS[name]

    assert isinstance(provider.name, str)
    assert isinstance(provider.promise, Promise)
    looks_up = provider.promise.lookup_lag is not None
    for asked in [Provider.send, *[LooksUp.lookup] * looks_up]:
        offered = getattr(type(provider), asked.__name__)
        assert list(inspect.signature(offered).parameters) == list(
            inspect.signature(asked).parameters
        )


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_provider_says_its_promise_where_it_is_defined(name):
    module = inspect.getmodule(type(PROVIDERS[name]))

    assert module is not None
    assert "Its promise" in (module.__doc__ or "")


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_reference_says_what_is_promised(name):
    promise = PROVIDERS[name].promise
    drops, looks_up, lag, kept = rows()[name]

    if drops == "always":
        assert promise.dedupes_for is not None
        assert promise.dedupes_for > 10 * 365 * 86_400
    else:
        assert promise.dedupes_for == span(drops)
    assert (promise.lookup_lag is None) == (looks_up == "never")
    assert promise.lookup_needs_id == (looks_up == "by its own id")
    assert promise.lookup_lag == span(lag)
    assert promise.lookup_for == (None if kept == "always" else span(kept))


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_option_of_a_provider_is_in_the_reference(name):
    kind = type(PROVIDERS[name])
    section = REFERENCE.read_text("utf-8").partition(f"\n## {name}\n")[2].partition("\n## ")[0]

    options = set(inspect.signature(kind).parameters) - {"now"}
    assert options <= set(re.findall(r"\w+", section.partition(")`")[0]))


def test_nothing_needs_to_be_installed_for_the_file():
    import subprocess  # noqa: PLC0415 - a process of its own, in which nothing was imported yet
    import sys  # noqa: PLC0415

    code = (
        "import sys; from holdfast.bridges.file import File; "
        "sys.exit(bool({'httpx2', 'httpcore2', 'aiosmtplib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
