"""Letters over HTTP with Flask: routes make jobs and read them, workers beside it run them.

flask --app examples/flask/letters.py run
holdfast -A letters:jobs worker            in examples/flask, on the same DATABASE_URL
"""

import os

from flask import Flask, Response, abort, jsonify, request

from holdfast import Holdfast, JobFailed, Retry
from holdfast.errors import ResultTimeout, UnknownJob

LONGEST_WAIT_S = 20.0

# Nothing is connected before the first use, so that servers may fork after they have imported this.
jobs = Holdfast(os.environ.get("DATABASE_URL", "sqlite:///letters.db"))
web = Flask(__name__)


@jobs.job(retry=Retry(attempts=5, base=2), timeout=30)
def write(to: str) -> str:
    """Write a letter."""
    if to == "nobody":
        raise ValueError("a letter needs a reader")
    return f"Dear {to}"


@web.post("/letters")
def post_letter() -> tuple[Response, int]:
    """Have a letter written; with `wait`, answer with its text if it is done by then."""
    handle = write.using(key=request.headers.get("Idempotency-Key")).submit(request.form["to"])
    wait_s = min(request.args.get("wait", 0.0, type=float), LONGEST_WAIT_S)
    if not wait_s:
        return jsonify(id=handle.id), 202
    try:
        return jsonify(id=handle.id, text=handle.result(timeout=wait_s)), 200
    except ResultTimeout:
        return jsonify(id=handle.id), 202
    except JobFailed as failed:
        return jsonify(id=handle.id, error=failed.line or "not written"), 502


@web.get("/letters/<job_id>")
def get_letter(job_id: str) -> Response:
    """Return the state of a letter, and its text once it is written."""
    try:
        view = jobs.job(job_id)
    except UnknownJob:
        abort(404)
    return jsonify(state=view.state, text=view.result)
