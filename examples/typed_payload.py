"""Payloads and results with types: refused before they are stored, whole when they are read."""

from dataclasses import dataclass
from datetime import date

from holdfast import Holdfast, JobContext, Pipeline, UsageError


@dataclass
class Invoice:
    """What a caller submits; any type that pydantic understands will do."""

    due: date
    lines: list[str]


@dataclass
class Posting:
    """What the first stage returns and the second gets back."""

    account: str
    invoice: Invoice


booking = Pipeline("booking", payload=Invoice)


@booking.stage
def assign(job: JobContext, payload: Invoice) -> Posting:
    """Get an `Invoice`, not a dict."""
    return Posting(account=f"{payload.due:%Y}-sales", invoice=payload)


@booking.stage
def post(job: JobContext, assign: Posting) -> str:
    """Get the `Posting` that was stored as JSON in between."""
    return f"{assign.account}: {len(assign.invoice.lines)} lines"


app = Holdfast("sqlite:///booking.db", pipelines=[booking])


def main() -> None:
    """Submit one that is refused and one that is booked."""
    try:
        app.submit(booking, {"due": "soon", "lines": []})
    except UsageError as error:
        print("refused:", error)

    worker = app.worker()
    worker.start()
    job = app.submit(booking, Invoice(due=date(2031, 5, 4), lines=["rope", "anchor"]))
    print(job.wait(timeout=30).result)
    worker.drain()


if __name__ == "__main__":
    main()
