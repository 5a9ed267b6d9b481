import io
import json
import logging
import re
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest
import structlog

from holdfast.config import logs
from holdfast.secrecy import keep_secret

KNOWN = "Bq6-known-to-the-log-7Rd"
STRIPE = "sk" + "_live_" + "k9Zx3QvT7bNw2RfLp8YcHs4J"
FORMATS = ("json", "console")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()


def fail(error: Exception) -> NoReturn:
    raise error


def as_json(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_record_is_a_json_line_with_its_extra_as_keys():
    stream = io.StringIO()
    logs.configure(level="info", log_format="auto", stream=stream)

    logging.getLogger("holdfast.worker").warning(
        "job %s",
        "retried",
        extra={
            "event": "retried",
            "job_id": "0190",
            "status": "queued",
            "attempt": 2,
            "duration_ms": 12.5,
            "gateway_status": 503,
            "error_code": "UPSTREAM_5XX",
            "detail": {"message": "busy"},
        },
    )

    (line,) = as_json(stream)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "level": "warning",
        "logger": "holdfast.worker",
        "message": "job retried",
        "event": "retried",
        "job_id": "0190",
        "status": "queued",
        "attempt": 2,
        "duration_ms": 12.5,
        "gateway_status": 503,
        "error_code": "UPSTREAM_5XX",
        "detail": {"message": "busy"},
    }


def test_a_record_below_the_level_is_not_written():
    stream = io.StringIO()
    logs.configure(level="warning", log_format="json", stream=stream)

    logging.getLogger("holdfast.worker").info("quiet")
    logs.set_level("info")
    logging.getLogger("holdfast.worker").info("loud")

    assert [line["message"] for line in as_json(stream)] == ["loud"]


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_one_record_is_one_line_whatever_its_values_hold(log_format: str):
    stream = io.StringIO()
    logs.configure(level="info", log_format=log_format, stream=stream)
    evil = 'a\nb\r\x1b[2J\x9b\u2028\u202e\x00"'

    logging.getLogger("holdfast.worker").info(
        "said %s", evil, extra={"reason": evil, "detail": {evil: [evil]}, "names": [evil]}
    )

    (line,) = stream.getvalue().splitlines()
    assert not set(line) & set("\r\x1b\x9b\u2028\u202e\x00")


def test_a_value_is_the_same_after_reading_it_back():
    stream = io.StringIO()
    logs.configure(level="info", log_format="json", stream=stream)
    text = "a\nb\x1b[2J\x9b\u2028 Tiếng Việt"

    logging.getLogger("x").info("said", extra={"reason": text})

    assert as_json(stream)[0]["reason"] == text


def test_an_exception_is_part_of_its_line():
    stream = io.StringIO()
    logs.configure(level="info", log_format="json", stream=stream)

    try:
        fail(KeyError("pages"))
    except KeyError:
        logging.getLogger("x").exception("it broke")

    (line,) = as_json(stream)
    assert line["message"] == "it broke"
    assert line["exception"].startswith("Traceback")
    assert line["exception"].endswith("KeyError: 'pages'")


def test_on_a_terminal_a_line_is_for_people():
    stream = Terminal()
    logs.configure(level="info", log_format="auto", stream=stream)

    logging.getLogger("holdfast.worker").info("worker started", extra={"queues": ["a", "b"]})

    assert "worker started" in stream.getvalue()
    assert "\x1b[" in stream.getvalue()
    assert not stream.getvalue().startswith("{")


def test_colours_can_be_turned_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    logs.configure(level="info", log_format="auto", stream=stream)

    logging.getLogger("holdfast.worker").info("job failed", extra={"detail": {"message": "no"}})

    assert stream.getvalue()[13:] == "[info     ] job failed         detail.message=no\n"


def test_a_traceback_for_people_is_readable_and_tame():
    stream = io.StringIO()
    logs.configure(level="info", log_format="console", stream=stream)

    try:
        fail(ValueError("a\x1b[2Jb"))
    except ValueError:
        logging.getLogger("x").exception("it broke")

    assert stream.getvalue().splitlines()[-1] == r"  ValueError: a\x1b[2Jb"


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_values_that_json_lacks_are_still_written(
    log_format: str, capsys: pytest.CaptureFixture[str]
):
    class Mute:
        def __str__(self) -> str:
            raise RuntimeError

    stream = io.StringIO()
    logs.configure(level="info", log_format=log_format, stream=stream)
    circle: list[Any] = []
    circle.append(circle)

    logging.getLogger("x").info("odd", extra={"odd": Mute(), "keys": {(1, 2): 3}, "set": {1}})
    logging.getLogger("x").info("round", extra={"circle": circle})

    written = stream.getvalue().splitlines()
    assert len(written) == 2
    assert "[redacted:unreadable]" in written[0]
    assert "Logging error" not in capsys.readouterr().err


def test_a_long_value_is_cut():
    stream = io.StringIO()
    logs.configure(level="info", log_format="json", stream=stream)

    logging.getLogger("x").info("long", extra={"reason": "x" * 100_000})

    assert as_json(stream)[0]["reason"].endswith("… [cut, 100000 characters]")


def test_what_a_user_logs_through_structlog_comes_out_alike():
    stream = io.StringIO()
    logs.configure(level="info", log_format="json", stream=stream)

    structlog.get_logger("shop").info("sold", amount=3)

    (line,) = as_json(stream)
    assert (line["message"], line["amount"], line["level"]) == ("sold", 3, "info")


def test_configuring_again_replaces_the_handler_and_leaves_those_of_others():
    first, second, foreign = io.StringIO(), io.StringIO(), logging.NullHandler()
    logging.getLogger().addHandler(foreign)
    logs.configure(level="info", log_format="json", stream=first)
    logs.configure(level="info", log_format="json", stream=second)

    logging.getLogger("x").info("once")

    assert (first.getvalue(), len(as_json(second))) == ("", 1)
    assert foreign in logging.getLogger().handlers


class Speaking(Exception):
    def __repr__(self) -> str:
        return f"Speaking({KNOWN})"


def said_with(secret: str) -> list[tuple[tuple[object, ...], dict[str, Any]]]:
    """Return the ways in which a record carries a secret: arguments and extra."""
    circle: list[Any] = [secret]
    circle.append(circle)
    return [
        ((f"refused for {secret}",), {}),
        (("refused for %s", secret), {}),
        (("refused: %r", {"headers": [("x", secret)]}), {}),
        (("refused: %s", ValueError(secret)), {}),
        (("refused",), {"extra": {"reason": secret}}),
        (("refused",), {"extra": {"detail": {"inner": [{"deep": (secret,)}]}}}),
        (("refused",), {"extra": {"detail": {secret: 1}}}),
        (("refused",), {"extra": {"circle": circle}}),
        (("refused",), {"extra": {"error": ValueError(secret)}}),
        (("refused",), {"extra": {"data": secret.encode()}}),
        (("refused",), {"extra": {"password": "hunter2", "reason": secret}}),
        (("refused",), {"exc_info": ValueError(f"bad key {secret}")}),
        (("refused",), {"exc_info": ExceptionGroup("two", [OSError(secret), KeyError(secret)])}),
        (("x" * 7_990 + secret + " tail" * 100,), {}),
        (("refused",), {"extra": {"reason": "x " * 3_995 + secret + " tail" * 100}}),
        (("refused",), {"exc_info": ValueError("x " * 31_990 + secret + " tail" * 1_000)}),
    ]


@pytest.mark.parametrize("log_format", FORMATS)
@pytest.mark.parametrize("secret", [KNOWN, STRIPE], ids=["known", "shape"])
def test_no_secret_is_written_whatever_carries_it(log_format: str, secret: str):
    keep_secret([KNOWN])
    stream = io.StringIO()
    logs.configure(level="info", log_format=log_format, stream=stream)
    ways = said_with(secret)

    for arguments, options in ways:
        logging.getLogger(f"shop.{secret}").warning(*arguments, **options)
    structlog.get_logger("shop").warning(f"refused {secret}", reason=secret, api_key="hunter2")

    written = stream.getvalue()
    assert "refused" in written
    assert not re.search(re.escape(secret[:8]), written)
    assert "hunter2" not in written
    assert written.count("[redacted:") >= 2 * len(ways)


@pytest.mark.parametrize("log_format", FORMATS)
def test_what_any_other_step_adds_is_redacted_after_it(log_format: str):
    keep_secret([KNOWN])
    stream = io.StringIO()
    logs.configure(level="info", log_format=log_format, stream=stream)

    def add_secret(_logger: object, _method: str, facts: dict[str, Any]) -> dict[str, Any]:
        return facts | {"added": f"bearer {KNOWN}"}

    configured = structlog.get_config()["processors"]
    structlog.configure(processors=[configured[0], add_secret, *configured[1:]])
    with structlog.contextvars.bound_contextvars(bound=KNOWN):
        structlog.get_logger("shop").warning("refused")

    written = stream.getvalue()
    assert "added" in written
    assert "bound" in written
    assert KNOWN not in written


@pytest.mark.parametrize("log_format", FORMATS)
def test_a_record_that_cannot_be_written_is_missed_and_not_shown(
    log_format: str, capsys: pytest.CaptureFixture[str]
):
    class Mute:
        def __str__(self) -> str:
            raise RuntimeError(KNOWN)

    stream = io.StringIO()
    logs.configure(level="info", log_format=log_format, stream=stream)
    # The test runner's own handlers raise what goes wrong in them.
    logging.getLogger().handlers[:-1] = []

    logging.getLogger("shop").warning("%d items for password=%s", "many", "hunter2-Kq9")
    logging.getLogger("shop").warning("said %s", Mute())
    logging.getLogger("shop").warning("and on it goes")

    written = stream.getvalue().splitlines()
    assert len(written) == 3
    assert all("a record is missing here" in line for line in written[:2])
    assert "test_logs.py" in written[0]
    assert "and on it goes" in written[2]
    assert "hunter2" not in stream.getvalue()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("log_format", FORMATS)
@pytest.mark.parametrize("separator", ["\n", "\r", "\r\n", "\x0b", "\x85", "\u2028", "\u2029"])
def test_no_value_can_pass_for_a_line_of_the_log(log_format: str, separator: str):
    stream = io.StringIO()
    logs.configure(level="info", log_format=log_format, stream=stream)
    forged = f'k{separator}{{"level": "info", "message": "job completed"}}'
    forged += f"{separator}12:00:00.000 [info     ] job completed"

    logging.getLogger("holdfast.worker").error(
        "job %s", forged, extra={"key": forged, forged: 1}, exc_info=ValueError(forged)
    )

    first, *others = stream.getvalue().splitlines()
    assert first.startswith("{" if log_format == "json" else "2") or first[:2].isdigit()
    assert all(line.startswith("  ") for line in others)
    assert not others or log_format == "console"


def test_a_formatter_of_ones_own_can_be_kept_and_made_safe():
    keep_secret([KNOWN])
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.Redacting(logging.Formatter("%(levelname)s %(message)s")))
    logger = logging.getLogger("mine")
    logger.addHandler(handler)

    logger.warning("refused for %s", KNOWN, exc_info=ValueError(STRIPE))

    assert stream.getvalue().startswith("WARNING refused for [redacted:known")
    assert KNOWN not in stream.getvalue()
    assert STRIPE not in stream.getvalue()


@pytest.mark.parametrize(
    "extra",
    [
        {"event": "complete", "job_id": "0190", "attempt": 1, "duration_ms": 1.5, "breaker": None},
        {"event": KNOWN, "pipeline": f"of {KNOWN}", "worker": STRIPE},
        {"password": "hunter2", "pin": 1234, "flag": True},
        {"named_later": "swordfish", "attempt": 2},
        {"reason": "a\nb\x1b[2J\x7f\x9b\u2028 Tiếng Việt", "key": "token", "value": "x1"},
        {"reason": "x" * 20_000},
        {"timestamp": "never", "level": "none"},
    ],
    ids=["plain", "known", "names", "more names", "odd", "long", "taken"],
)
def test_a_line_of_plain_values_is_what_the_long_way_makes_of_it(extra: dict[str, Any]):
    keep_secret([KNOWN])
    stream = io.StringIO()
    logs.configure(level="info", log_format="json", stream=stream)
    logger = logging.getLogger("holdfast.worker")

    def written() -> None:
        logger.info("job %s", KNOWN, extra=extra)
        logger.info("job %s", KNOWN, extra={**extra, "detail": {}})

    written()
    keep_secret([], names=["named_later"])
    written()

    lines = as_json(stream)
    for line in lines:
        line.pop("timestamp")
    for short, long in (lines[:2], lines[2:]):
        assert long.pop("detail") == {}
        assert short == long
        assert list(short) == list(long)
        assert KNOWN not in json.dumps(short)
    assert "swordfish" not in json.dumps(lines[2:])


def test_a_word_that_becomes_secret_is_hidden_in_the_lines_that_follow():
    word = "Tr0ub4dor-and-three-more-9Kq"
    stream = io.StringIO()
    logs.configure(level="info", log_format="json", stream=stream)

    logging.getLogger("holdfast.worker").info("first", extra={"event": "one", "note": word})
    keep_secret([word])
    logging.getLogger("holdfast.worker").info("second", extra={"event": "two", "note": word})

    first, second = as_json(stream)
    assert first["note"] == word
    assert word not in second["note"]
