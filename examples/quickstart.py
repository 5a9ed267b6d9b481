"""The README's example, and a worker that runs it to the end."""
# ruff: noqa: ANN001, D103, I001 - as short as the README shows it

from urllib.request import urlopen
from holdfast import Holdfast, Pipeline, Retry

pages = Pipeline("pages", retry=Retry(attempts=5, base=1, cap=60))


@pages.stage(timeout=10)
def fetch(job, url: str) -> str:
    return urlopen(url, timeout=job.time_left).read().decode()


@pages.stage
def measure(job, fetch: str) -> int:
    return len(fetch)


app = Holdfast("sqlite:///holdfast.db", pipelines=[pages])
job = app.submit(pages, {"url": "https://example.org"}, key="example-1")

if __name__ == "__main__":
    worker = app.worker()
    worker.start()
    done = job.wait(timeout=60)
    print(done.state, done.result)
    worker.drain()
