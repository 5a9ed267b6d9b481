"""What the ledger of a job tells."""

from holdfast import Holdfast
from holdfast.core.job.decision import Kind


def kinds_of(app: Holdfast, job) -> list[Kind]:
    return [item.entry.kind for item in app.store.ledger(job.id)]
