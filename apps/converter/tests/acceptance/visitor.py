"""Somebody who uses the converter over HTTP."""

from __future__ import annotations

import time
from typing import Any, Final, Self
from uuid import uuid4

import httpx2

PATIENCE_S: Final = 90.0
ENDED: Final = frozenset({"complete", "failed", "cancelled", "expired"})
Document = dict[str, Any]


def new_pdf(size: int = 300) -> bytes:
    """Return a file that nobody has sent before."""
    return (b"%PDF-1.7\n" + uuid4().bytes.hex().encode()).ljust(size, b"\n")


class Visitor:
    """A browser with its cookies, or a program with its token."""

    def __init__(self, address: str, token: str | None = None) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.http = httpx2.Client(base_url=address, headers=headers, timeout=PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def send(
        self, body: bytes, *, mapping: str = "text", name: str = "invoice.pdf"
    ) -> httpx2.Response:
        return self.http.post(
            "/api/upload",
            data={"mapping": mapping},
            files={"file": (name, body, "application/pdf")},
        )

    def send_new(self, body: bytes, *, mapping: str = "text") -> str:
        """Send a file and return the id of its new job."""
        answer = self.send(body, mapping=mapping)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def conversion(self, job_id: str) -> Document:
        """What the page tells of a conversion."""
        items = self.http.get("/api/conversions").json()["items"]
        return next(item for item in items if item["id"] == job_id)

    @property
    def is_paused(self) -> bool:
        return bool(self.http.get("/api/conversions").json()["paused"])

    def job(self, job_id: str) -> Document:
        """What the engine tells of it."""
        answer = self.http.get(f"/api/jobs/{job_id}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def events(self, job_id: str) -> list[Document]:
        return list(self.http.get(f"/api/jobs/{job_id}/events").json()["items"])

    def ended(self, job_id: str) -> Document:
        """Return a conversion, once it has ended."""
        until = time.monotonic() + PATIENCE_S
        while (found := self.conversion(job_id))["state"] not in ENDED:
            assert time.monotonic() < until, f"not in time: it ends; {found}"
            time.sleep(0.05)
        return found

    def retry(self, job_id: str) -> httpx2.Response:
        return self.http.post(f"/api/jobs/{job_id}/retry")

    def download(self, job_id: str) -> httpx2.Response:
        return self.http.get(f"/api/jobs/{job_id}/download")


def refusal(answer: httpx2.Response) -> tuple[int, str]:
    """Return the status and the code of an answer that refuses."""
    return answer.status_code, answer.json()["code"]
