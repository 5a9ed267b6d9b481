"""`collabiq llm test` by the rules and against the stand-in of Gemini."""

import json

from collabiq.samples import mailbox
from collabiq.stand_ins.world import GEMINI_KEY


def test_the_model_is_called_once_and_its_answer_printed_with_its_price(run, world):
    done = run("llm", "test", "--json")
    shown = run("llm", "test")

    found = json.loads(done.stdout)["extraction"]
    assert done.exit_code == shown.exit_code == 0
    assert (found["extractor"], found["startup_name"]) == ("gemini", "Brightfold")
    assert found["usage"]["input_tokens"] > 0
    assert "USD" in shown.stdout
    assert len(world.servings["gemini"].calls) == 2


def test_a_mail_of_your_own_is_looked_into(run, tmp_path):
    sample = next(each for each in mailbox() if each.expected.fields.get("startup_name"))
    (tmp_path / "mail.eml").write_bytes(sample.raw)

    found = json.loads(run("llm", "test", "mail.eml", "--json").stdout)["extraction"]
    piped = json.loads(run("llm", "test", "-", "--json", input_=sample.raw).stdout)["extraction"]

    assert found["startup_name"] == sample.expected.fields["startup_name"]
    assert piped["startup_name"] == found["startup_name"]


def test_without_a_model_it_is_said_that_there_is_none(run, environment):
    environment["LLM_ORDER"] = "offline"

    done = run("llm", "test")

    assert done.exit_code == 0
    assert "without a model" in done.stdout


def test_a_model_that_refuses_ends_with_3_and_one_line(run, world):
    expected = {"unauthorized": 3, "blocked": 3, "half_json": 3, "lost_answer": 3, "fenced": 0}
    codes = {}
    for fault in expected:
        world.servings["gemini"].fault = fault
        done = run("llm", "test", "--json")
        codes[fault] = done.exit_code
        assert GEMINI_KEY not in done.output
        assert "Traceback" not in done.output

    assert codes == expected


def test_without_a_key_it_says_which_one(run, environment):
    environment |= {"INFISICAL_ENABLED": "0"}
    del environment["GEMINI_API_KEY"]

    done = run("llm", "test")

    assert done.exit_code == 2
    assert "GEMINI_API_KEY" in done.stderr
