"""What every storage promises: one body, run on disk and against an S3 server."""

import asyncio
import hashlib
import json
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from converter.storage.contract import Storage, Stored
from converter.storage.errors import BadName, StorageFailed, StorageMissing
from converter.storage.names import new_name

NAME = "job-1.xml"
BIG_CHUNK = b"x" * 64 * 1024
NOT_MADE_HERE = [
    "",
    ".",
    "..",
    "../job-1.xml",
    "../../etc/passwd",
    "..\\job-1.xml",
    "/etc/passwd",
    "/job-1.xml",
    "//job-1.xml",
    "folder/job-1.xml",
    "./job-1.xml",
    "job-1.xml/",
    "job-1.xml/..",
    "%2e%2e%2fjob-1.xml",
    "%2e%2e/job-1.xml",
    "..%2fjob-1.xml",
    "..%c0%afjob-1.xml",
    "job-1.xml%00.pdf",
    "job-1.xml\x00",
    "\x00.xml",
    "job-1\x00.xml",
    "job-1.xml\n",
    "job\n-1.xml",
    "\r.xml",
    ".job-1.xml",
    ".job-1.xml.part",
    "job-1",
    "job-1.exe",
    "job-1.xml.exe",
    "job-1.xml.xml",
    "job 1.xml",
    "JOB-1.XML",
    "-rf.xml",
    "_job.xml",
    "~root.xml",
    "$HOME.xml",
    "C:\\job-1.xml",
    "c:job-1.xml",
    "con:.xml",
    "job-1.xml:stream",
    "rechnung-ä.xml",
    "job-1․xml",
    "јob-1.xml",
    "．．/job-1.xml",
    "a" * 300 + ".xml",
    "a" * 101 + ".xml",
]

WRITES_AND_READS_MUCH = """
import json, re, sys
from pathlib import Path
from converter.storage.open import open_storage

def peak_kb():
    # What getrusage says begins with the peak of the process that started this one.
    return int(re.search("VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

storage = open_storage(sys.argv[1], label="results", environment=json.loads(sys.argv[2]))
storage.put("small.xml", [b"x"])
with storage.open("small.xml") as reading:
    list(reading)
before_kb = peak_kb()
storage.put("big.xml", (b"x" * 65536 for _ in range(512)))
with storage.open("big.xml") as reading:
    size = sum(map(len, reading))
print(size, peak_kb() - before_kb)
"""

WRITES_UNTIL_KILLED = """
import json, sys
from converter.storage.open import open_storage

storage = open_storage(sys.argv[1], label="results", environment=json.loads(sys.argv[2]))
with storage.draft("job-1.xml") as first, storage.draft("other.xml") as second:
    while True:
        first.write(b"x" * 65536)
        second.write(b"x" * 65536)
        print("writing", flush=True)
"""


def content_of(storage: Storage, name: str = NAME) -> bytes:
    with storage.open(name) as reading:
        return b"".join(reading)


def failing_after(*chunks: bytes) -> Iterator[bytes]:
    yield from chunks
    raise ConnectionError("the gateway hung up")


def test_what_was_put_is_read_again_with_its_size_and_digest(storage):
    stored = storage.put(NAME, [b"<a>", b"", b"</a>"])

    assert stored == Stored(7, hashlib.sha256(b"<a></a>").hexdigest(), made=True)
    assert content_of(storage) == b"<a></a>"
    assert storage.size(NAME) == 7
    assert storage.exists(NAME)


def test_an_open_file_tells_its_size_before_it_is_read(storage):
    storage.put(NAME, [b"12345"])

    with storage.open(NAME) as reading:
        assert reading.size == 5


def test_nothing_at_all_can_be_kept(storage):
    assert storage.put(NAME, []).size == 0
    assert content_of(storage) == b""


def test_what_is_read_whole_is_all_of_it_or_too_much(storage):
    storage.put(NAME, [b"abc", b"def"])

    assert storage.read_whole(NAME, most_bytes=6) in (b"abcdef", None)
    assert storage.read_whole(NAME, most_bytes=5) is None


def test_a_later_put_takes_the_place_of_an_earlier(storage):
    storage.put(NAME, [b"first"])
    storage.put(NAME, [b"second"])

    assert content_of(storage) == b"second"


def test_what_is_there_is_kept_and_not_made_again(storage):
    storage.put_if_absent(NAME, [b"first"])

    kept = storage.put_if_absent(NAME, failing_after())

    assert kept == Stored(5, hashlib.sha256(b"first").hexdigest(), made=False)
    assert content_of(storage) == b"first"


def test_who_comes_second_while_both_write_keeps_what_is_there(storage):
    def overtaken() -> Iterator[bytes]:
        yield b"slow"
        storage.put_if_absent(NAME, [b"fast"])

    kept = storage.put_if_absent(NAME, overtaken())

    assert not kept.made
    assert content_of(storage) == b"fast"


def test_of_many_who_write_at_once_exactly_one_makes_it(storage):
    barrier = threading.Barrier(8)
    outcomes: list[Stored] = []

    def write(number: int) -> None:
        def chunks() -> Iterator[bytes]:
            barrier.wait(30)
            yield b"%d" % number

        outcomes.append(storage.put_if_absent(NAME, chunks()))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(outcomes) == 8
    assert sum(stored.made for stored in outcomes) == 1
    assert {stored.sha256 for stored in outcomes} == {storage.describe(NAME).sha256}


@pytest.mark.parametrize("put", ["put", "put_if_absent"])
def test_a_source_that_breaks_off_leaves_nothing(storage, put):
    with pytest.raises(ConnectionError, match="hung up"):
        getattr(storage, put)(NAME, failing_after(b"<half>", BIG_CHUNK * 40))

    assert not storage.exists(NAME)
    assert list(storage.written_before(datetime.now(UTC) + timedelta(days=1))) == []


def test_a_source_that_breaks_off_leaves_what_was_there(storage):
    storage.put(NAME, [b"whole"])

    with pytest.raises(ConnectionError):
        storage.put(NAME, failing_after(b"half"))

    assert content_of(storage) == b"whole"


def test_a_few_bytes_of_a_coroutine_are_kept_unless_something_is_there(storage):
    async def twice():
        return [await storage.put_small_if_absent(NAME, content) for content in (b"<a/>", b"<b>")]

    sizes = asyncio.run(twice())

    # None is for whoever would rather have a draft.
    assert sizes in ([4, 4], [None, None])
    assert storage.exists(NAME) is (sizes[0] is not None)
    if sizes[0] is not None:
        assert content_of(storage) == b"<a/>"


def test_a_draft_is_not_seen_before_it_is_committed(storage):
    with storage.draft(NAME) as draft:
        draft.write(b"abc")
        seen_before = storage.exists(NAME)
        draft.commit()

    assert not seen_before
    assert (draft.size, draft.sha256) == (3, hashlib.sha256(b"abc").hexdigest())
    assert content_of(storage) == b"abc"


def test_a_draft_that_was_given_up_leaves_nothing_and_takes_nothing_more(storage):
    with storage.draft(NAME) as draft:
        draft.write(b"abc")

    with pytest.raises(StorageFailed):
        draft.write(b"more")
    with pytest.raises(StorageFailed):
        draft.commit()
    assert not storage.exists(NAME)


def test_what_is_not_there_is_missing(storage):
    with pytest.raises(StorageMissing), storage.open(NAME):
        pass
    with pytest.raises(StorageMissing):
        storage.size(NAME)
    with pytest.raises(StorageMissing):
        storage.describe(NAME)
    assert not storage.exists(NAME)


def test_what_was_removed_is_missing_and_can_be_removed_again(storage):
    storage.put(NAME, [b"abc"])

    assert storage.remove(NAME)
    assert not storage.remove(NAME)
    assert not storage.exists(NAME)


def test_what_was_written_before_an_instant_is_listed(storage):
    storage.put(NAME, [b"abc"])
    now = datetime.now(UTC)

    assert list(storage.written_before(now + timedelta(minutes=1))) == [NAME]
    assert list(storage.written_before(now - timedelta(minutes=1))) == []


def test_two_names_are_two_files(storage):
    names = [new_name(".pdf") for _ in range(5)]
    for name in names:
        storage.put(name, [name.encode()])

    assert len(set(names)) == 5
    assert {content_of(storage, name).decode() for name in names} == set(names)


def started(script: str, location: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, location, json.dumps(environment)],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_memory_does_not_grow_with_what_is_written_and_read(location, environment):
    with started(WRITES_AND_READS_MUCH, location, environment) as child:
        output, _ = child.communicate(timeout=50)

    size, grown_kb = map(int, output.split())
    assert size == 32 * 1024 * 1024
    assert grown_kb < 16 * 1024


def test_many_names_are_looked_for_at_once(storage):
    there = {f"job-{number}.xml" for number in range(40)}
    for name in there:
        storage.put(name, [b"<a/>"])

    assert storage.those_there([*there, "never.xml"]) == there
    assert storage.those_there([]) == set()


def test_names_that_are_none_are_not_looked_for(storage):
    with pytest.raises(BadName):
        storage.those_there([NAME, "../etc/passwd"])


def test_a_process_killed_while_it_writes_leaves_what_was_there(storage, location, environment):
    storage.put(NAME, [b"whole"])

    with started(WRITES_UNTIL_KILLED, location, environment) as child:
        for _ in range(3):
            assert child.stdout.readline() == "writing\n"
        child.send_signal(signal.SIGKILL)
        assert child.wait(30) == -signal.SIGKILL

    assert content_of(storage) == b"whole"
    assert not storage.exists("other.xml")


def test_a_name_that_the_server_does_not_make_is_refused(storage):
    for name in NOT_MADE_HERE:
        for use in (storage.size, storage.exists, storage.remove, storage.draft, storage.describe):
            with pytest.raises(BadName):
                use(name)
        with pytest.raises(BadName), storage.open(name):
            pass
        with pytest.raises(BadName):
            storage.put_if_absent(name, [b"abc"])
    assert list(storage.written_before(datetime.now(UTC) + timedelta(days=1))) == []


def test_a_name_that_the_server_makes_is_taken(storage):
    for name in ("a.xml", "0.pdf", "job_01j9-x.xml", "a" * 100 + ".pdf"):
        storage.put(name, [b"abc"])

        assert content_of(storage, name) == b"abc"


def test_errors_survive_the_way_between_processes():
    error = pickle.loads(pickle.dumps(StorageFailed("results", "no luck")))

    assert (type(error), error.label, str(error)) == (
        StorageFailed,
        "results",
        "results: no luck",
    )
