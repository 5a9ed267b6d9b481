"""Functions as jobs, and their results, as a program uses them."""

from __future__ import annotations

from typing import assert_type

from holdfast import Holdfast, JobContext, JobHandle, Retry, results

app = Holdfast("sqlite:///:memory:")


@app.job
def send(to: str, pages: int = 1) -> int:
    return pages


@app.job(retry=Retry(attempts=5), name="greeting")
async def greet(job: JobContext, name: str) -> str:
    return f"{name} {job.attempt}"


handle = send.submit("ada", pages=2)
assert_type(handle, JobHandle[int])
assert_type(handle.result(timeout=3), int)
assert_type(greet.using(key="k", delay=3).submit(name="ada").result(), str)
assert_type([each.result() for each in results([handle])], list[int])


async def main() -> None:
    assert_type(await (await greet.asubmit(name="ada")).aresult(), str)
    assert_type((await app.aio.job("id")).id, str)
    await app.aio.cancel("id")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


send.submit(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
send.submit()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
greet.submit(nam="ada")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
send.using(keys="k")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
app.job(retry=3)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
