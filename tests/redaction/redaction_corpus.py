"""Secrets that are none, in everything that carries them, and look-alikes that must survive.

Every value is put together at run time, so that no file holds anything that looks like a secret.
"""

import base64
import json
import traceback
from typing import NamedTuple
from urllib.parse import quote

from holdfast.core.values.callback import Claim, sign


class Sample(NamedTuple):
    """A text, and the parts of it that nobody may see."""

    text: str
    secrets: tuple[str, ...]


def _repeated(letters):
    def take(count):
        return (letters * (count // len(letters) + 1))[:count]

    return take


mixed = _repeated("k9Zx3QvT7bNw2RfLp8YcHs4JdGm6VtXa")
hexadecimal = _repeated("3f9a1c7e5b2d8046")
capitals = _repeated("Q7ZK4MXB2TNW6LRP")
digits = _repeated("4906381725")
letters = _repeated("kZxQvTbNwRfLpYcHsJdGmVtXa")
bech32 = _repeated("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")


def in_base64(text):
    return base64.b64encode(text.encode()).decode()


def _in_url_base64(text):
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def whole(text):
    """A sample that is secret from end to end."""
    return Sample(text, (text,))


def around(before, secret, after=""):
    """A sample of which only `secret` is secret."""
    return Sample(f"{before}{secret}{after}", (secret,))


PEM = "\n".join(
    (
        "-----BEGIN PRIVATE" + " KEY-----",
        *(mixed(64) for _ in range(4)),
        "-----END PRIVATE" + " KEY-----",
    )
)
JWT = ".".join(
    (
        _in_url_base64('{"alg":"HS256","typ":"JWT"}'),
        _in_url_base64('{"sub":"u-1001","iat":1763228400}'),
        mixed(43),
    )
)
ACCESS_KEY = "AKIA" + capitals(16)
STRIPE = "sk_live_" + mixed(24)
DSN = around("postgresql://app:", mixed(16), "@db/x")
DIGEST = f'username="svc", realm="r", nonce="{hexadecimal(32)}", response="{hexadecimal(24)}"'
HARD_PASSWORD = "p@" + mixed(8) + ":x/" + mixed(6) + "%40" + mixed(4)

PROVIDERS = {
    "S01 AWS access key id": [whole(ACCESS_KEY)],
    "S02 AWS temporary id": [whole("ASIA" + capitals(16))],
    "S04 GitHub classic": [whole("ghp_" + mixed(36))],
    "S05 GitHub fine-grained": [whole("github_pat_" + mixed(82))],
    "S07 GitLab": [whole("glpat-" + mixed(20))],
    "S08 Slack bot": [whole(f"xoxb-{digits(12)}-{digits(12)}-{mixed(24)}")],
    "S10 Stripe": [whole(STRIPE), whole("rk_live_" + mixed(24))],
    "S11 OpenAI project": [whole(f"sk-proj-{mixed(74)}T3BlbkFJ{mixed(74)}")],
    "S13 Google API": [whole("AIza" + mixed(35))],
    "S14 SendGrid": [whole(f"SG.{mixed(22)}.{mixed(43)}")],
    "S16 npm": [whole("npm_" + mixed(36))],
    "S17 PyPI": [whole("pypi-AgEIcHlwaS5vcmc" + mixed(60))],
    "S19 DigitalOcean": [whole("dop_v1_" + hexadecimal(64))],
    "S20 Databricks": [whole("dapi" + hexadecimal(32))],
    "S22 Shopify": [whole("shpat_" + hexadecimal(32))],
    "S23 Telegram bot": [
        around("telegram_token=", f"{digits(10)}:A{mixed(34)}"),
        whole(f"{digits(10)}:A{mixed(34)}"),
    ],
    "S25 Grafana": [whole(f"glsa_{mixed(32)}_{hexadecimal(8)}")],
    "callback of a stage": [
        whole(sign(Claim("0190b5a2-7c3e-7d41-8f6a-2b9c4d5e6f70", 1, "ask"), key=b"k" * 32))
    ],
    "S26 Linear and Notion": [whole("lin_api_" + mixed(40)), whole(f"ntn_{digits(11)}{mixed(35)}")],
    "S28 Doppler": [whole("dp.pt." + mixed(43))],
    "S29 Sentry": [whole("sntryu_" + hexadecimal(64))],
    "S31 age": [whole("AGE-SECRET-KEY-1" + bech32(58))],
    "S32 JWT": [whole(JWT)],
    "S33 PEM private key": [Sample(PEM, (mixed(64),))],
}
FORMS = {
    "S34 Azure connection string": [
        around(
            "DefaultEndpointsProtocol=https;AccountName=x;Account" + "Key=",
            in_base64(mixed(64)),
            ";",
        )
    ],
    "S35 Google service account": [
        Sample(
            json.dumps({"type": "service_account", "private_key": PEM, "client_email": "a@b.iam"}),
            (mixed(64),),
        )
    ],
    "S36 bearer header": [around("Authorization: Bearer ", mixed(40))],
    "S37 basic header": [around("Authorization: Basic ", in_base64("svc:" + mixed(16)))],
    "S38 other schemes": [
        around("Authorization: Token ", mixed(32)),
        around("Authorization: ApiKey ", mixed(32)),
        Sample(f"Authorization: Digest {DIGEST}", (hexadecimal(32), hexadecimal(24))),
        Sample(
            f"Authorization: AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/20261115/eu/s3/aws4_request, "
            f"SignedHeaders=host;x-amz-date, Signature={hexadecimal(64)}",
            (ACCESS_KEY, hexadecimal(64)),
        ),
    ],
    "S40 cookies": [
        Sample(f"Cookie: sessionid={mixed(32)}; csrftoken={mixed(30)}", (mixed(32), mixed(30))),
        Sample(f"Cookie: theme={mixed(9)}; x={mixed(12)}", (mixed(9), mixed(12))),
        around("Set-Cookie: sid=", mixed(32), "; Path=/; HttpOnly; SameSite=Lax"),
    ],
    "S41 credentials in an address": [
        around("https://svc:", mixed(16), "@api.test/v1"),
        around("https://", mixed(32), "@host"),
    ],
    "S42 database address": [DSN],
    "S43 broker address": [
        around("amqp://u:", mixed(16), "@mq/"),
        around("redis://:", mixed(16), "@cache"),
        around("amqp://u:", HARD_PASSWORD, "@mq/vhost"),
    ],
    "S44 query": [
        around("https://h.test/?access_token=", mixed(24)),
        around("https://h.test/?x=1&api_key=", mixed(24), "&y=2"),
        around("https://h.test/blob?se=2026&sig=", mixed(24), "&sv=1"),
        around("https://h.test/o?X-Amz-Signature=", hexadecimal(64)),
        around("https://h.test/cb?code=", mixed(24), "&state=1"),
        around("Referer: https://h.test/?access_token=", mixed(24)),
        around("next=https%3A%2F%2Fh.test%2F%3Faccess_token%3D", mixed(24), "%26x%3D1"),
    ],
    "S46 names in JSON": [
        Sample(json.dumps({"a": [{"Client_Secret": mixed(24)}]}), (mixed(24),)),
        Sample(
            json.dumps(
                {"clientSecret": mixed(24), "client-secret": mixed(20), "db_password_2": mixed(12)}
            ),
            (mixed(24), mixed(20), mixed(12)),
        ),
        Sample(json.dumps({"CLIENT_SECRET": int(digits(10))}), (digits(10),)),
        Sample(json.dumps({"password": [mixed(12), {"old": mixed(10)}]}), (mixed(12), mixed(10))),
    ],
    "S47 JSON in JSON": [
        Sample(json.dumps({"body": json.dumps({"password": mixed(16)})}), (mixed(16),)),
        Sample(json.dumps(json.dumps({"body": json.dumps({"password": mixed(16)})})), (mixed(16),)),
    ],
    "S49 reprs": [
        Sample(repr({"password": mixed(16).encode()}), (mixed(16),)),
        Sample(repr(("token", mixed(24))), (mixed(24),)),
    ],
    "S52 environments": [
        Sample(f"DB_PASSWORD={mixed(16)}\nSMTP_PASS={mixed(12)}", (mixed(16), mixed(12))),
        around("export API_TOKEN=", mixed(20)),
        Sample(f"password: >-\n  {mixed(16)}\n  {mixed(10)}\nuser: x", (mixed(16), mixed(10))),
    ],
    "S53 options": [
        around("--password ", mixed(12)),
        around("--token=", mixed(24)),
        around("-u svc:", mixed(16)),
        around("-p", mixed(12)),
    ],
    "S55 header pairs": [
        Sample(repr([(b"authorization", b"Bearer " + mixed(24).encode())]), (mixed(24),))
    ],
    "S56 base64 of secrets": [
        whole(in_base64(DSN.text)),
        whole(in_base64("Authorization: Bearer " + mixed(40))),
        whole(in_base64("svc:" + mixed(16))),
    ],
    "S58 name and value apart": [
        around("password:\n  ", mixed(16)),
        around("password:\x1b[0m ", mixed(16)),
        around("\x1b[31mpassword\x1b[0m=\x1b[1m", mixed(16), "\x1b[0m"),
    ],
    "S59 other languages": [
        around(f"{name}=", mixed(12))
        for name in ("contraseña", "passwort", "mot_de_passe", "пароль")
    ],
}
PEOPLE = {
    "S61 phone": [
        whole("+49 30 " + "901820"),
        whole("(415) 555-" + "0132"),
        whole("+44 7700 " + "900123"),
    ],
    "S62 card": [
        whole("4" + "1" * 15),
        whole("-".join(["5555"] * 3 + ["4444"])),
        whole("37828" + "2246310005"),
        whole("4000 0566 " + "5566 5556"),
    ],
    "S64 identity with its name": [
        around("SSN ", "078-05-" + "1120"),
        around("NINO ", "AB" + "123456C"),
    ],
    "S65 passport with its name": [around("passport no. ", "C01X" + "00T47")],
}
SECRETS = {**PROVIDERS, **FORMS, **PEOPLE}


def _cause_chain(text):
    error = ValueError(f"cannot go on: {text}")
    error.__cause__ = KeyError(text)
    error.add_note(f"while looking at {text}")
    return "".join(traceback.format_exception(error))


TEXT_CARRIERS = {
    "bare": lambda text: text,
    "error message": lambda text: f"the call failed: {text}",
    "end of a sentence": lambda text: f"the call with {text} failed",
    "exception with its arguments": lambda text: repr(ValueError("bad input", text)),
    "cause chain, note": _cause_chain,
    "code in a traceback": lambda text: f"  File 'a.py', line 3, in run\n    call({text!r}, 3)\n",
    "log message and arguments": lambda text: "job %s failed: %s" % ("7781", text),  # noqa: UP031
    "header": lambda text: f"GET / HTTP/1.1\r\nHost: h.test\r\nX-Debug: {text}\r\n\r\n",
    "address": lambda text: f"https://api.test/v1/search?q={quote(text, safe='')}&page=2",
    "outbox body": lambda text: json.dumps({"to": "ops", "body": f"see {text}"}),
    "JSON in JSON": lambda text: json.dumps({"log": json.dumps({"line": text})}),
    "metrics label": lambda text: f"calls_total{{label={json.dumps(text)}}} 3",
    "logfmt": lambda text: f"level=error msg={json.dumps(text, ensure_ascii=False)} job=7",
}
VALUE_CARRIERS = {
    "payload": lambda text: {"id": 7, "items": [{"note": text}]},
    "result": lambda text: [1, ["done", text], None],
    "exception arguments": lambda text: ValueError("bad input", text).args,
    "exception": lambda text: ValueError("bad input", text),
    "header pairs": lambda text: [("x-debug", text), ("accept", "*/*")],
    "bytes": lambda text: {"body": text.encode()},
    "dict key": lambda text: {text: 1},
    "JSON text": lambda text: {"body": json.dumps({"inner": text})},
}

LOOK_ALIKES = {
    "N01 UUIDv4": ["9f1c2b6e-7d3a-4e58-9b41-0c6d5e2f8a17"],
    "N02 UUIDv7": ["0190b5a2-7c3e-7d41-8f6a-2b9c4d5e6f70"],
    "N03 ULID": ["01J2Z7M8Q4X6T9V3B5N1C8D0KW"],
    "N04 SHA-1": ["da39a3ee5e6b4b0d3255bfef95601890afd80709"],
    "N05 short SHA": ["3f9a1c7", "commit 3f9a1c7 on main"],
    "N06 SHA-256": [hexadecimal(64), "sha256:" + hexadecimal(64), "img@sha256:" + hexadecimal(64)],
    "N07 MD5, ETag": [hexadecimal(32), 'ETag: W/"5d8c72a5edda8d6a:0"'],
    "N08 traceparent": ["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"],
    "N09 request id": [
        "req_7Hk2mQ9xT4bN",
        "X-Request-ID: req_7Hk2mQ9xT4bN",
        "correlation-id: 7f1e3d69-7a89-4e58-9b41-0c6d5e2f8a17",
    ],
    "N10 dates": [
        "2026-11-15T17:40:00.123456+00:00",
        "2026-11-15 17:40",
        "from 2026-11-15 17:40 to 2026-11-16 08:00",
    ],
    "N11 prices": ["EUR 1,234.56", "$19.99", "1.234,56 €"],
    "N12 versions": ["v3.11.7", "2.0.0-rc.1+build.5"],
    "N13 base64": [
        in_base64("a plain text that somebody sent as base64, about nothing at all"),
        "data:image/png;base64," + base64.b64encode(bytes(range(256))).decode(),
        "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7",
    ],
    "N14 colours, styles, scripts": [
        "#3f9a1c",
        "a{color:#3f9a1c;margin:0 4px}.b>c{top:1px}",
        "!function(e,t){var n=e[0],r=t||{};for(var o=0;o<n.length;o++)r[n[o]]=o}(window,0);",
    ],
    "N15 coordinates, checksums": ["52.520008, 13.404954", "crc32=3f9a1c7e"],
    "N16 counts": ["97.3 %", "count=1234567", "size 1048576 bytes", "1048576"],
    "N17 addresses": ["3c:22:fb:4a:9d:01", "10.20.30.40", "2001:db8::1", "[2001:db8::1]:5432"],
    "N18 ISBN, EAN": ["978-3-16-148410-0", "EAN 4006381333931"],
    "N19 no card": ["4" + "1" * 14 + "2"],
    "N20 epochs": ["1763228400123", "1763228400", "1763228400123456"],
    "N21 numbers of things": ["order-2026-000123", "INV-2026-0042", "ticket #48213", "PROJ-1234"],
    "N22 job keys": ["changelist-7781:rcpt-42:v3"],
    "N23 frames": [
        'File "pipeline/stage.py", line 118, in convert',
        "  /app/auth/token.py:118:refresh_token",
    ],
    "N24 codes": ["SQLSTATE 57P01", "ORA-00001", "HTTP 401", "error code: 57P01"],
    "N25 prose": [
        "the token bucket is empty",
        "password policy updated",
        "Invalid password: must be at least 8 characters",
        "Failed password for invalid user admin from 10.1.2.3 port 51234 ssh2",
        "using password: YES",
        "authorization: denied",
        "the secret is missing",
        "unexpected token '}' at line 3",
    ],
    "N26 names": [
        f"{name}=2"
        for name in (
            *("author", "tokenizer", "monkey", "keyboard", "passenger", "compass", "primary_key"),
            "idempotency_key",
        )
    ]
    + [
        'author: "Jane Doe"',
        '{"author":"Jane","tokenizer":"bpe-32k","monkey":"m1","primary_key":"id-17"}',
        "idempotency_key=changelist-7781:rcpt-42:v3",
    ],
    "N27 counts of tokens": [
        "max_tokens=4096",
        "token_count: 512",
        '{"max_tokens": 4096, "prompt_tokens": 17, "tokens": [1, 2, 3]}',
    ],
    "N28 public keys": [
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + mixed(43) + " deploy@host",
        "-----BEGIN CERTIFICATE-----\n" + mixed(64) + "\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\n" + mixed(64) + "\n-----END PUBLIC KEY-----",
    ],
    "N29 stand-ins": [
        "${API_KEY}",
        "password=${API_KEY}",
        "token: {{ secrets.X }}",
        "where password = $1",
        "password=<redacted>",
        "password: ***",
        "api_key=%s",
        "postgresql://app:***@db/x",
        "Authorization: Bearer ***",
        '{"password": null, "token": "", "secret": "***"}',
    ],
    "N30 addresses without credentials": [
        "https://api.test/v1/jobs?page=2",
        "git@host:org/repo.git",
        "@decorator",
        "write to user@ and wait",
        "https://medium.test/@user/article-1",
        "https://registry.test/@types/node@20.1.0",
        "http://localhost:5173/@vite/client",
        "ssh://git@host/org/repo.git",
        "postgresql://app@db/x",
    ],
    "N31 packages": [
        "aiohttp-3.9.1 agent-kit-1.0.1 attrs-23.2.0 certifi-2024.2.2 charset-normalizer-3.3.2",
    ],
}

PERSONAL = {
    "P01 e-mail": [
        around("550 <", "jane.doe" + "@example.co.uk", ">: user unknown"),
        around("to=", "jane+tag" + "@mail.example.com", "; cc=none"),
        around("mailto:", "jane" + "@example.com"),
        around("https://x.test/?to=", "jane" + "%40example.com", "&n=1"),
        around("", "jane" + "@münchen.de", " bounced"),
        around("relay said ", "o'brien" + "@example.com", ":25"),
    ],
    "P02 phone": [
        around("call ", "+49 30 " + "901820"),
        around("phone: ", "0171-" + "2345678"),
        around("", "(415) 555-" + "0132", " is busy"),
    ],
    "P03 one-time code": [
        around("Your code is ", "48" + "2913"),
        around("verification code: ", "48" + "2913"),
        around("one-time code ", "482 " + "913", " has expired"),
        around("OTP ", "48" + "2913", " rejected"),
        around("", "48" + "2913", " is your verification code"),
        around("2FA code=", "48" + "2913"),
        around("wrong PIN ", "48" + "29"),
    ],
}
"""What is personal, and hidden where dead letters, failures and logs are shown."""

IMPERSONAL = {
    "I01 versions and instants": [
        "version 2024.10.17",
        "2026-11-17T23:18:00.123456Z",
        "at 1763421480",
        "pkg@1.2.3",
        "@types/node@20.1.0",
        "python@3.11",
    ],
    "I02 amounts, ports, ids": [
        "amount 1234.56 EUR",
        "1,234,567 rows",
        "port 5432",
        "127.0.0.1:5432",
        "order 482913",
        "job 48291375 of 91827364",
        "build #482913",
        "tan(1234)",
    ],
    "I03 codes that are none": [
        "exit code 137",
        "status code 503",
        "error code 1045 (28000)",
        "code 1006",
        "HTTP code 404",
        "opcode 4829",
        "pinned 12345",
        "spinning up 1234",
        "the access code is missing",
    ],
    "I04 machines": [
        "git@host.test:org/repo.git",
        "postgresql://app@db.example.com/x",
        "user@localhost",
        "img@sha256:" + hexadecimal(64),
        "root@10.0.0.1",
        "write to user@ and wait",
    ],
}
"""What only looks personal."""
