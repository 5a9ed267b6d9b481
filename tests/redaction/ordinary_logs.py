"""Lines as programs log them every day, without a secret in them; the same for the same seed."""

import base64
import re
from random import Random


def _split(text):
    return tuple(text.split())


_WORDS = _split(
    "account author batch cache checkout client cluster cursor device digest dispatch document "
    "engine event export field filter gateway handler import index invoice keyboard ledger limit "
    "listing manager message metric module monitor network notice object order packet parser "
    "payload pipeline planner policy printer process profile project queue reader record region "
    "report request resource result router runner sample schema search sender server service shard "
    "signal snapshot socket source stage store stream summary system table target thread ticket "
    "timer token topic tracker update upload usage vector version view volume watcher window worker"
)
_CHOICES = {
    "level": _split("DEBUG INFO INFO INFO WARNING ERROR"),
    "method": _split("GET GET GET POST PUT DELETE PATCH HEAD"),
    "state": _split("queued processing waiting complete failed cancelled"),
    "status": _split("200 201 204 304 400 401 403 404 409 429 500 502 503"),
    "error": _split("TimeoutError KeyError ValueError ConnectionResetError PermissionError"),
    "agent": (
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0",
        "curl/8.5.0",
        "python-httpx/0.28.1",
        "kube-probe/1.33",
    ),
}
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_ULID_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

# One line each; what stands in angles is filled in. A backslash joins two lines.
_TEMPLATES = r"""
‹ip› - - [15/Nov/2026:17:‹nn›:‹nn› +0000] "‹method› ‹path›/‹n› HTTP/1.1" ‹status› ‹n:90000› \
"-" "‹agent›"
‹ip› - ‹word› [15/Nov/2026:17:‹nn›:‹nn› +0100] "GET ‹path›?page=‹n:90›&sort=created_at" 200 ‹n›
‹ip› "GET ‹path›?utm_source=‹word›&id=‹n›" 200 "https://www.‹word›.test‹path›?q=‹word›+‹word›"
‹time› ‹level› ‹dotted›: job ‹uuid› ‹state› stage=‹word› attempt=‹n:5› duration_ms=‹n:9000›.‹n:9›
‹time› ‹level› ‹dotted›: key=changelist-‹n›:rcpt-‹n›:v‹n:9›
‹time› ‹level› ‹dotted›: idempotency_key=‹word›-‹n› primary_key=id partition_key=‹word›-‹n:64›
‹time› ‹level› ‹dotted›: traceparent=00-‹hex:32›-‹hex:16›-01 request_id=req_‹letters:12›
‹time› ‹level› ‹dotted›: correlation-id: ‹uuid› span=‹hex:16›
{"timestamp":"‹time›","level":"info","logger":"‹dotted›","job_id":"‹uuid›","status":"‹state›",\
"attempt":‹n:5›,"duration_ms":‹n›}
{"model":"m-‹n:9›","max_tokens":‹n›,"prompt_tokens":‹n›,"completion_tokens":‹n:900›,\
"total_tokens":‹n›}
the token bucket is empty, waiting ‹n:90› s
token_count: ‹n› of ‹n›
tokenizer loaded ‹n› tokens in ‹n:900› ms
unexpected token '}' at line ‹n:900›
SyntaxError: Unexpected token < in JSON at position ‹n:90›
password policy updated by ‹word›
password reset requested, mail sent
secret rotation finished for ‹n:9› of ‹n:9› secrets
API key rotation is due in ‹n:90› days
Authorization: denied by policy ‹word›
session ‹uuid› opened for user ‹word›
session opened for user ‹word›(uid=‹n›) by (uid=0)
Failed password for invalid user ‹word› from ‹ip› port ‹n:60000› ssh2
Accepted publickey for ‹word› from ‹ip› port ‹n:60000› ssh2: ED25519 SHA256:‹letters:43›
lease token ‹n› is stale, dropped
token=‹n› revision=‹n› holder=worker-‹n:9›
  File "/app/src/‹word›/‹word›.py", line ‹n:900›, in ‹word›
  /app/src/‹word›/auth.py:‹n:900›:‹word›
  /app/src/‹word›/token.py:‹n:900›:refresh_token
    ‹word› = self.‹word›.fetch(‹word›_id, timeout=‹n:90›)
    raise ‹error›(f'no ‹word› for {key!r}') from error
    token = self._tokens.get(‹word›)
    password = os.environ['DB_PASSWORD']
    client = Client(api_key=settings.api_key, timeout=‹n:90›)
    def ‹word›(self, token: str, password: str | None = None) -> bool:
    headers = {'Authorization': f'Bearer {token}'}
    return await self.‹word›(key=key, auth=auth)
    for key, value in ‹word›.items():
‹error›: ‹word› ‹n› not found in ‹dotted›
	at com.‹word›.‹word›.Handler.handle(Handler.java:‹n:900›)
LOG:  duration: ‹n:900›.‹n:999› ms  statement: select id, key from job where queue = $1 limit ‹n›
ERROR:  duplicate key value violates unique constraint "‹word›_pkey"
DETAIL:  Key (id)=(‹uuid›) already exists.
FATAL:  password authentication failed for user "‹word›"
UPDATE users SET password = $1, token = $2 WHERE id = $3
SQLSTATE 57P01: terminating connection, pid=‹n:90000›
Index Scan using ‹word›_key_idx on ‹word›  (cost=0.42..8.44 rows=‹n› width=8)
ORA-0‹n:9999›: unique constraint violated
Normal  Pulled  ‹nn›s  kubelet  Container image "registry.test/‹word›@sha256:‹hex:64›" present
pod/‹word›-‹hex:10›-‹hex:5› condition met
I1115 17:‹nn›:00.‹n:999999›  1 reconciler.go:‹n:900›] started for volume "kube-api-access-‹hex:5›"
MountVolume.SetUp succeeded for volume "‹word›-token-‹hex:5›" pod ‹word›-‹hex:10›-‹hex:5›
secret/‹word›-tls configured
‹word›-‹word›-‹n:9›.‹n:30›.‹n:9› ‹word›-‹n:9›.‹n:30›.‹n:9› ‹word›-‹word›-‹n:9›.‹n:9›.‹n:9›
‹word›==‹n:9›.‹n:30›.‹n:9› --hash=sha256:‹hex:64›
Downloading ‹word›-‹n:9›.‹n:9›.0-py3-none-any.whl (‹n:900› kB)
    "integrity": "sha512-‹base64:64›",
+ ‹word›@‹n:9›.‹n:9›.‹n:9›
status installed lib‹word›‹n:9›:arm64 1:‹n:9›.‹n:9›+dfsg-‹n:9›+deb12u‹n:9›
commit ‹hex:40›
   ‹hex:7›..‹hex:7›  main -> main
From git@host.test:‹word›/‹word›.git
index ‹hex:7›..‹hex:7› 100644
Cloning into '‹word›'... https://git.test/‹word›/‹word›.git
ulid=‹ulid› etag: W/"‹hex:16›:‹n:9›"
md5=‹hex:32› crc32=‹hex:8› size=‹n:1000000000›
offset=‹n:1000000000000› lag=‹n:1000000› partition=‹n:64›
snowflake 1‹n:100000000000000000›
order-2026-‹n:1000000› invoice INV-2026-‹n› ISBN 978-3-16-‹n:999999›-‹n:9›
epoch_ms=17632284‹n:99999› epoch=17632‹n:99999› blob ‹letters:20› ‹n:1000000› bytes
zxid=0x‹hex:9› sessionid=0x‹hex:15› nonce=‹n› hash=0x‹hex:64›
charged EUR ‹n:9›,‹n:999›.‹nn› (‹n:100›.‹n:9› %) fee $0.‹nn› ref ‹word›-‹n›
at 52.‹n:999999›, 13.‹n:999999› alt ‹n:900› m
DHCPACK on ‹ip› to ‹mac› via eth0
connect to ‹ip›:‹n:65536› failed: Connection refused
listening on [2001:db8::‹hex:4›]:‹n:65536›
[UFW BLOCK] IN=eth0 OUT= MAC=‹mac› SRC=‹ip› DST=‹ip› LEN=40 TTL=245 ID=‹n:65536› PROTO=TCP
TLS handshake with ‹word›.test:443 done, cipher TLS_AES_256_GCM_SHA384
upstream https://‹word›.test:8443‹path› answered 503 after ‹n› ms
redis://cache-‹n:9›.test:6379/0 reconnected
amqp://mq.test:5672/%2F channel ‹n:99› closed
[‹n:90000›.‹n:999999›] usb 1-‹n:9›: new high-speed USB device number ‹n:99› using xhci_hcd
‹word›_‹word›_total{queue="‹word›",state="‹state›",le="0.‹n:99›"} ‹n:10000000›
.‹word›{color:#‹hex:6›;margin:0 ‹n:9›px}.‹word›>a{top:1px}
!function(e,t){var n=e[0],r=t||{};for(var o=0;o<n.length;o++)r[n[o]]=o}(window,‹n›);
asset ‹word›.‹hex:20›.js ‹n:900› KiB [emitted] [immutable] [minimized]
<input type="text" name="‹word›" value="‹word›">
<td>‹word›</td><td>‹n›</td>
data:image/png;base64,iVBORw0KGgo‹base64:90›
api_key: ${API_KEY}
password: {{ vault.db.password }}
‹word›.timeout_s=‹n:90› ‹word›.retries=‹n:9›
HOLDFAST_DATABASE_URL=postgresql://db.test/‹word›
PWD=/srv/‹word› OLDPWD=/
token_url=https://login.test/oauth2/token scope=‹word›
secret_name=db-‹word› secret_version=‹n:9›
max_keys=‹n› key_prefix=‹word›/
cookie_domain=.example.test cookie_secure=true session_timeout=‹n›
author: ‹word› ‹word›
tests/‹word›/test_‹word›.py::test_‹word›_‹word› PASSED [ ‹n:99›%]
‹n:900› passed, ‹n:9› failed, ‹n:9› skipped in ‹n:90›.‹nn›s
src/‹word›.py:‹n:900›: error: Argument 1 has incompatible type "str"; expected "int"  [arg-type]
pass=‹n:90› fail=‹n:9› skip=0
coverage: ‹n:100›.‹n:9›% of statements
‹word› ‹word› ‹word› ‹word›, ‹word› ‹word› ‹word›.
"""
_PLACE = re.compile(r"‹(?P<what>\w+)(?::(?P<size>\d+))?›")


class OrdinaryLogs:
    """An endless supply of lines."""

    def __init__(self, seed):
        self._random = Random(seed)
        self._templates = _TEMPLATES.replace("\\\n", "").strip("\n").splitlines()

    def lines(self, count):
        """Yield so many lines."""
        for _ in range(count):
            yield _PLACE.sub(self._filled, self._random.choice(self._templates))

    def _filled(self, place):
        what, size = place["what"], int(place["size"] or 10_000)
        if what in _CHOICES:
            return self._random.choice(_CHOICES[what])
        return str(getattr(self, f"_{what}")(size))

    def _n(self, most):
        return self._random.randrange(most)

    def _nn(self, _size):
        return f"{self._random.randrange(60):02}"

    def _word(self, _size):
        return self._random.choice(_WORDS)

    def _dotted(self, _size):
        return ".".join(self._random.choices(_WORDS, k=self._random.randint(2, 4)))

    def _path(self, _size):
        return "/" + "/".join(self._random.choices(_WORDS, k=self._random.randint(1, 4)))

    def _hex(self, length):
        return f"{self._random.getrandbits(4 * length):0{length}x}"

    def _letters(self, length):
        return "".join(self._random.choices(_LETTERS, k=length))

    def _base64(self, length):
        return base64.b64encode(self._random.randbytes(length)).decode()

    def _uuid(self, _size):
        return f"{self._hex(8)}-{self._hex(4)}-4{self._hex(3)}-a{self._hex(3)}-{self._hex(12)}"

    def _ulid(self, _size):
        return "01" + "".join(self._random.choices(_ULID_LETTERS, k=24))

    def _ip(self, _size):
        return "10." + ".".join(str(self._random.randrange(256)) for _ in range(3))

    def _mac(self, _size):
        return ":".join(self._hex(2) for _ in range(6))

    def _time(self, _size):
        day, hour = self._random.randint(10, 28), self._random.randint(10, 23)
        return (
            f"2026-11-{day}T{hour}:{self._nn(0)}:{self._nn(0)}.{self._random.randrange(10**6):06}Z"
        )
