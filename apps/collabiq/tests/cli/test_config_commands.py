"""`collabiq config`: what is set, where it comes from, and whether it will do."""

import json

from collabiq.stand_ins.world import GEMINI_KEY, NOTION_KEY


def findings(done):
    return {each["what"]: each for each in json.loads(done.stdout)["findings"]}


def test_every_setting_has_its_value_and_source_and_secrets_are_masked(run, environment):
    environment["COLLABIQ_POLL_INTERVAL_MS"] = "3000"

    done = run("config", "show", "--json")
    shown = run("config", "show", "--changed")

    found = {each["name"]: each for each in json.loads(done.stdout)["settings"]}
    assert (found["POLL_INTERVAL_MS"]["value"], found["POLL_INTERVAL_MS"]["source"]) == (
        "3000",
        "environment",
    )
    assert found["CONFIDENCE_THRESHOLD"]["source"] == "default"
    assert found["NOTION_API_KEY"]["source"] == "infisical"
    assert found["INFISICAL_CLIENT_SECRET"]["value"] == "********"
    assert "CONFIDENCE_THRESHOLD" not in shown.stdout
    for secret in (NOTION_KEY, GEMINI_KEY, environment["INFISICAL_CLIENT_SECRET"]):
        assert secret not in done.output + shown.output


def test_one_setting_is_printed_alone(run, environment):
    environment["GEMINI_MODEL"] = "gemini-9"

    model = run("config", "get", "GEMINI_MODEL")
    secret = json.loads(run("config", "get", "notion_api_key", "--json").stdout)
    unknown = run("config", "get", "NOTHING_OF_OURS", "--json")

    assert model.stdout == "gemini-9\n"
    assert (secret["value"], secret["source"]) == ("********", "infisical")
    assert unknown.exit_code == 4
    assert json.loads(unknown.stdout)["error"]["code"] == 4


def test_settings_that_will_do_are_found_well(run):
    done = run("config", "validate", "--json")

    assert done.exit_code == 0, done.output
    assert {each["level"] for each in findings(done).values()} == {"ok"}


def test_what_has_to_be_done_first_is_named_and_ends_with_2(run, environment, tmp_path):
    environment |= {"INFISICAL_ENABLED": "0", "ENV_FILE": str(tmp_path / "none.env")}
    environment["DATABASE_URL"] = "postgresql://127.0.0.1:1/nothing"
    environment["DATA_MIN_FREE_BYTES"] = "999999999999999"
    del environment["NOTION_API_KEY"]

    done = run("config", "validate", "--json")

    found = findings(done)
    assert done.exit_code == 2
    assert "NOTION_API_KEY" in found["secrets"]["text"]
    assert {name for name, each in found.items() if each["level"] == "fault"} == {
        "env file",
        "secrets",
        "files",
        "database",
    }


def test_a_variable_that_cannot_be_read_ends_with_2_and_its_name(run, environment):
    environment["POLL_INTERVAL_MS"] = "soon"

    shown = run("config", "show", "--json")
    validated = run("config", "validate")

    assert shown.exit_code == validated.exit_code == 2
    assert "POLL_INTERVAL_MS" in json.loads(shown.stdout)["error"]["message"]
    assert "POLL_INTERVAL_MS" in validated.stdout


def test_secrets_are_found_in_infisical_and_no_value_is_printed(run):
    done = run("config", "test-secrets", "--json")
    shown = run("config", "test-secrets")

    found = json.loads(done.stdout)
    assert done.exit_code == 0
    assert {each["source"] for each in found["secrets"]} == {"infisical"}
    assert NOTION_KEY not in done.output + shown.output


def test_secrets_of_the_file_count_while_infisical_is_away(run, world, environment, tmp_path):
    names = ("NOTION_API_KEY", "GEMINI_API_KEY", "GMAIL_TOKEN")
    file = tmp_path / "collabiq.env"
    file.write_text("".join(f"{name}='{environment.pop(name)}'\n" for name in names), "utf-8")
    environment["ENV_FILE"] = str(file)
    world.servings["infisical"].close()

    done = run("config", "test-secrets", "--json")

    found = json.loads(done.stdout)
    assert done.exit_code == 3
    assert found["infisical"]["failure"]
    assert {each["name"]: each["source"] for each in found["secrets"]} == {
        **dict.fromkeys(names, "env_file"),
        "NOTION_DATABASE_ID_COLLABIQ": "environment",
        "NOTION_DATABASE_ID_COMPANIES": "environment",
    }


def test_a_secret_that_is_found_nowhere_ends_with_2_and_its_name(run, environment):
    environment |= {"INFISICAL_ENABLED": "0"}
    del environment["GMAIL_TOKEN"]

    done = run("config", "test-secrets")

    assert done.exit_code == 2
    assert "GMAIL_TOKEN" in done.stderr
