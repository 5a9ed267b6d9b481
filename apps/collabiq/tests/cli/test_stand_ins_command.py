"""`collabiq stand-ins`, as a process of its own."""

import json
import signal
import subprocess
import sys

import httpx


def test_the_four_servers_run_until_they_are_stopped_and_print_what_to_set():
    command = [sys.executable, "-m", "collabiq", "stand-ins", "--json", "--empty"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        given = json.loads(process.stdout.readline())
        answered = [
            httpx.get(given["NOTION_API_URL"]).status_code,
            httpx.get(given["GMAIL_API_URL"]).status_code,
            httpx.get(given["GEMINI_API_URL"]).status_code,
            httpx.get(given["INFISICAL_HOST"]).status_code,
        ]
        process.send_signal(signal.SIGTERM)
        code = process.wait(20)

    assert all(status >= 400 for status in answered), "they speak, and want credentials"
    assert code == 0
    assert json.loads(given["GMAIL_TOKEN"])["token_uri"] == given["GMAIL_TOKEN_URI"]
