"""Whatever a file is called: its name reaches neither a path nor a header as it was sent."""

from urllib.parse import unquote

from apps.converter.tests.http.hostile_names import HOSTILE_NAMES
from apps.converter.tests.system.stand_in import PDF_BYTES
from converter.payload import MAX_FILENAME

OF_PATHS = frozenset("/\\\x00\r\n:")


def send(client, name, number):
    body = (
        b'--b\r\nContent-Disposition: form-data; name="mapping"\r\n\r\ntext\r\n'
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="'
        + name.encode()
        + b'"\r\n\r\n'
        + PDF_BYTES
        + str(number).encode()
        + b"\r\n--b--\r\n"
    )
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    return client.post("/api/upload", content=body, headers=headers)


def everything_in(folder):
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


def test_no_name_leaves_its_folder_or_breaks_a_header(visit, converter, tmp_path):
    assert len(set(HOSTILE_NAMES)) >= 40
    before = everything_in(tmp_path)
    for number, name in enumerate(HOSTILE_NAMES):
        client = visit()
        sent = send(client, name, number)
        assert sent.status_code == 201, name
        converter.run()
        got = client.get(f"/api/jobs/{sent.json()['id']}/download")

        assert got.content == b"<document/>", name
        shown = sent.json()["filename"]
        assert 1 <= len(shown) <= MAX_FILENAME
        assert not OF_PATHS & set(shown), name
        kind, _, saved = got.headers["content-disposition"].partition("; filename*=UTF-8''")
        assert kind == "attachment"
        assert not OF_PATHS & set(unquote(saved)), name
        assert "set-cookie" not in got.headers
    made = everything_in(tmp_path) - before
    places = {(path.parts[0], path.suffix) for path in made if path.parts[0] != "holdfast.db"}
    assert {place for place in places if not place[0].startswith("holdfast.db")} == {
        ("uploads", ".pdf"),
        ("results", ".xml"),
    }


def test_an_id_that_is_a_path_is_nobodys(visit):
    ada = visit()
    for name in HOSTILE_NAMES:
        if not name.strip(" ./") or "\x00" in name or "\x1b" in name or "\t" in name:
            continue  # no client sends such a path
        answer = ada.get(f"/api/jobs/{name.replace('/', '%2f')}/download")
        assert answer.status_code in {403, 404}, name
        assert b"root:" not in answer.content
