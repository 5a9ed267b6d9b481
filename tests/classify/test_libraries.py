"""The tables together: every name in them is a class that a library has, and order is kept."""

import importlib
import subprocess
import sys

import pytest

from holdfast.classify import LIBRARIES, STANDARD
from holdfast.classify.everywhere import EVERYWHERE
from holdfast.classify.rule import Rule
from holdfast.classify.standard import GIVE_UP

MODULES = [
    "aio_pika",
    "aiohttp",
    "aiormq.exceptions",
    "aiosmtplib",
    "amqp",
    "anthropic",
    "asyncpg",
    "google.api_core.exceptions",
    "google.auth.exceptions",
    "google.genai.errors",
    "googleapiclient.errors",
    "grpc",
    "http.client",
    "httplib2",
    "httpx",
    "httpx2",
    "infisical_sdk",
    "kombu.exceptions",
    "msgspec",
    "notion_client",
    "openai",
    "pdfminer.pdfdocument",
    "pika.exceptions",
    "psycopg.errors",
    "psycopg_pool",
    "pydantic.v1",
    "pydantic_core",
    "pypdf.errors",
    "requests",
    "resend.exceptions",
    "smtplib",
    "sqlite3",
    "urllib3.exceptions",
    "wave",
]


def patterns_of(rule: Rule) -> tuple[object, ...]:
    return rule.match if isinstance(rule.match, tuple) else (rule.match,)


NAMES = sorted(
    {pattern for rule in LIBRARIES for pattern in patterns_of(rule) if isinstance(pattern, str)}
)


def every_exception():
    """All classes of exceptions there are; other tests make odd ones, so they are told by id."""
    pending, found = [BaseException], {}
    while pending:
        for kind in type.__subclasses__(pending.pop()):
            if id(kind) not in found:
                found[id(kind)] = kind
                pending.append(kind)
    return found.values()


@pytest.fixture(scope="module")
def known():
    for module in MODULES:
        importlib.import_module(module)
    module_of = type.__dict__["__module__"].__get__
    return {(module_of(kind), kind.__name__) for kind in every_exception()}


# `named` pairs every package with every name, so that a pair may have no class.
WITHOUT_CLASS = {"openai.AnthropicError", "anthropic.OpenAIError"}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_the_tables_is_a_class_that_its_library_has(name, known):
    package, _, class_name = name.rpartition(".")

    found = [
        module
        for module, kind in known
        if kind == class_name and f"{module}.".startswith(f"{package}.")
    ]

    assert found or name in WITHOUT_CLASS


def test_the_rows_for_built_in_classes_come_last():
    assert EVERYWHERE.rules == (GIVE_UP, *LIBRARIES, *STANDARD)


def test_classification_imports_none_of_the_libraries():
    # holdfast itself needs these, or they come with Python.
    own = {"http.client", "psycopg.errors", "pydantic_core", "smtplib", "sqlite3", "wave"}
    script = (
        "import sys; from holdfast.classify import classify\n"
        "classify(ValueError('x'), now=0)\n"
        f"sys.stderr.write(', '.join({set(MODULES) - own!r} & set(sys.modules)))\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=False, text=True
    )

    assert (ended.returncode, ended.stderr.strip()) == (0, "")
