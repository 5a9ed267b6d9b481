"""The many ways in which a secret is written, and how much around it is kept."""

import base64
import gzip
import json
import zlib

import pytest

from holdfast.redaction import Redactor, is_maskable
from holdfast.redaction.marker import MARKER
from tests.redaction.redaction_corpus import DSN, PEM, hexadecimal, in_base64, letters, mixed

redactor = Redactor()
CURL = "curl -u"
ESCAPED_PASSWORD = json.dumps("пароль")[1:-1]
KNOWN = "Zr8!known/va lue+1ñ"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password=ab,cd;ef&gh next", "password=* next"),
        ("f(password=hunter2, user=bob)", "f(password=*, user=bob)"),
        ("password=hunter2;Server=db", "password=*;Server=db"),
        ("password=a\"b'c next", "password=* next"),
        ("password='a b' user='c'", "password='*' user='c'"),
        (r"password='it\'s' x", "password='*' x"),
        ('password="""a"b""" x', 'password="""*""" x'),
        ("password='never closed\nnext line", "password='*\nnext line"),
        ("password=", "password="),
        ("f(password=) x", "f(password=) x"),
        ('Authorization: "Bearer abc" x', 'Authorization: "Bearer *" x'),
        ('password=""', 'password=""'),
        ("{'password': b'hunter2', 'x': 1}", "{'password': b'*', 'x': 1}"),
        ('{"password": 12345, "x": 1}', '{"password": "*", "x": 1}'),
        ('{"password": ["a", "b]"], "x": 1}', '{"password": "*", "x": 1}'),
        ("password=(1, [2, {3: ')'}]) x", "password=* x"),
        ("password=[1, 2", "password=*"),
        (r'"{\"password\":\"hunter2\",\"x\":1}" tail', r'"{\"password\":\"*\",\"x\":1}" tail'),
        (r"{\"password\":[\"a]b\",1],\"x\":1}", r"{\"password\":\"*\",\"x\":1}"),
        (r"{\\\"password\\\":\\\"a\\\\\"b\\\"}", r"{\\\"password\\\":\\\"*\\\"}"),
        (r"{\"password\":\"never closed", r"{\"password\":\"*"),
        ('"password"=>"hunter2"', '"password"=>"*"'),
        ("password := hunter2", "password := *"),
        ("{Password:hunter2 User:bob}", "{Password:* User:bob}"),
        ("user[password]=hunter2&x=1", "user[password]=*&x=1"),
        ("headers['Authorization'] = 'Bearer abc'", "headers['Authorization'] = 'Bearer *'"),
        ("DB_PASSWORD=correct horse\nX=1", "DB_PASSWORD=*\nX=1"),
        ("export DB_PASSWORD=correct horse", "export DB_PASSWORD=*"),
        ("password: correct horse battery", "password: *"),
        ("x password: hunter2 y", "x password: * y"),
        ("password: |\n    one\n\n    two\nuser: x", "password: |\n    *\nuser: x"),
        ("password: |\n  one", "password: |\n  *"),
        (r"password: >-\n  one\n  two\nuser: x", r"password: >-\n  *\nuser: x"),
        ("passwords:\n  - one\n  - two\nuser: x", "passwords:\n  *\nuser: x"),
        ("token:\n  type: bearer", "token:\n  type: bearer"),
        ("Password:\nLogin incorrect", "Password:\nLogin incorrect"),
        (f"Password:\n{mixed(12)}", "Password:\n*"),
        ("password: >-\n", "password: >-\n"),
        ("- name: DB_PASSWORD\n  value: hunter2\n", "- name: DB_PASSWORD\n  value: *\n"),
        (
            '{"name":"Authorization","value":"Bearer x1"}',
            '{"name":"Authorization","value":"Bearer *"}',
        ),
        ('name="password"\r\n\r\nhunter2\r\n--b', 'name="password"\r\n\r\n*\r\n--b'),
        ('name="password"\r\n\r\n', 'name="password"\r\n\r\n'),
        ("<w:Password Type='x'>hunter2</w:Password>", "<w:Password Type='x'>*</w:Password>"),
        ("<name>bob</name><token></token>", "<name>bob</name><token></token>"),
        ("<password>***</password>", "<password>***</password>"),
        (f"password {mixed(12)} x", "password * x"),
        ("with password 'hunter2' x", "with password '*' x"),
        (f"your access token is {mixed(20)}", "your access token is *"),
        ("invalid token 'lambda' here", "invalid token 'lambda' here"),
        ("password {x} 1", "password {x} 1"),
        (f"API key: {mixed(20)} x", "API key: * x"),
        (f"cache key: {mixed(20)} x", f"cache key: {mixed(20)} x"),
        ("ALTER USER x PASSWORD 'hunter2'", "ALTER USER x PASSWORD '*'"),
        ("CREATE USER x IDENTIFIED BY 'hunter2'", "CREATE USER x IDENTIFIED BY '*'"),
        ("create user x identified by '***'", "create user x identified by '***'"),
        ("('token', 'hunter2')", "('token', '*')"),
        ("('tokens', 'a', 'b')", "('tokens', 'a', 'b')"),
        ("['password', 'username']", "['password', 'username']"),
        (f"['password', '{mixed(12)}']", "['password', '*']"),
        ("x 'password', 'hunter2'", "x 'password', 'hunter2'"),
        ("['mysql', '--password', 'hunter2']", "['mysql', '--password', '*']"),
        ("--password hunter --user x", "--password * --user x"),
        ("--password-file /run/x --token ***", "--password-file /run/x --token ***"),
        ("--password --verbose", "--password --verbose"),
        ("mysql -phunter db", "mysql -p* db"),
        ("mysql -p*** db", "mysql -p*** db"),
        ("tar -pxzf a.tar", "tar -pxzf a.tar"),
        ("sshpass -p hunter ssh x", "sshpass -p * ssh x"),
        (f"{CURL} svc:hunter https://x", f"{CURL} svc:* https://x"),
        ("docker run -u 1000:1000 -u app:app -u app:group x",) * 2,
        ("AUTH PLAIN AHN2YwBodW50ZXI=", "AUTH PLAIN *"),
        ("token = Secret('" + mixed(12) + "')", "token = Secret('*')"),
        ("token = os.environ['TOKEN']", "token = os.environ['TOKEN']"),
        ("password: str = field()", "password: str = field()"),
        ("api_key=settings.api_key, x=1", "api_key=settings.api_key, x=1"),
        ("x.token = y.refresh_token", "x.token = y.refresh_token"),
        ("getpass('Password: ', stream)", "getpass('Password: ', stream)"),
        ("it's password: 'hunter2'", "it's password: '*'"),
        ("password: 'hunter2'", "password: '*'"),
        ("INFO app.token: key=job-17 a=b", "INFO app.token: key=job-17 a=b"),
        ("INFO app.token: correlation-id: 9f1c2b6e", "INFO app.token: correlation-id: 9f1c2b6e"),
        ("https://token.test:8443/x", "https://token.test:8443/x"),
        ("pin=12 otp=123456", "pin=12 otp=*"),
        ("PWD=/srv/x MYSQL_PWD=hunter2", "PWD=/srv/x MYSQL_PWD=*"),
        ("mysql://x?code=57P01&code=" + mixed(20), "mysql://x?code=57P01&code=*"),
        (f"contrase\\u00f1a={mixed(8)} x", "contrase\\u00f1a=* x"),
        (f"{ESCAPED_PASSWORD}=hunter2 x", f"{ESCAPED_PASSWORD}=* x"),
        (r"\npassword=hunter2 x", r"\npassword=* x"),
        (repr("contraseña=hunter2".encode()), r"b'contrase\xc3\xb1a=*'"),
        (f"[-p{mixed(12)} x", "[-p* x"),
        (f"code={mixed(24)} code=137", "code=* code=137"),
        ("tel:+49 30 901820", "tel:*"),
    ],
)
def test_only_the_secret_itself_is_hidden(text, shown):
    assert MARKER.sub("*", redactor.text(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {mixed(20)} failed with 401",
        f"authorization: {mixed(20)}",
        f"proxy-authorization=Basic {in_base64('a:b')}",
        f"Bearer {mixed(20)}",
        f"basic {in_base64('svc:x1')}",
        f'Digest username="svc", response="{hexadecimal(32)}"',
        f"x=1 Bearer%20{mixed(20)}",
        f"https:\\/\\/svc:{mixed(10)}@h\\/x",
        f"https://{mixed(20)}:x-oauth-basic@github.test",
        f"https://{mixed(20)}:{mixed(16)}@github.test",
        f"mongodb+srv://a:{mixed(10)}@h1,h2/db?x=1",
        f"https://a:{mixed(8)}?b@h/x",
        f"https://a:{mixed(8)}?b=@h/x",
        f"https://h/?next=https://a:{mixed(10)}@h2/",
        f"svc:{mixed(14)}@db.test:5432/x",
        f"hash $2b$12${mixed(53)}",
        f"root:$6${mixed(8)}${mixed(86)}:19000:0",
        f"{in_base64(DSN.text.ljust(39, '/'))}\nzzzz and more",
        base64.encodebytes(f"{DSN.text}?{'x' * 70}".encode()).decode(),
        in_base64(json.dumps({"password": mixed(10)})),
        base64.b64encode(zlib.compress(f"password={mixed(16)}".encode())).decode(),
        base64.b64encode(gzip.compress(f"password={mixed(16)}".encode(), mtime=0)).decode(),
        f'{{"\\u0070assword": "{mixed(10)}"}}',
        f'x {{"\\u0070assword": "{mixed(10)}"}} y',
        f"%2570assword%253D{mixed(10)} and more",
        f"pass\u200bword={mixed(10)}",
        f"\u0130 &quot;password&quot;:&quot;{mixed(10)}&quot;",
        f"IBAN DE89 3704 0044 {'0532 0130 00'}",
        f"DE8937040044{'0532013000'}",
        f"phone 030 {'901820-12'}",
        f"BIC {'DEUTDEFF' + '500'}",
        f"AKIA{mixed(4)}{letters(2)} glpat-{mixed(20)}, {mixed(14)}.atlasv1.{mixed(60)}",
        f"{hexadecimal(32)}-us12",
        f"hooks.slack.com/services/T0/B0/{mixed(24)}",
        f"M{mixed(23)}.{mixed(6)}.{mixed(30)}",
        f"acme_live_{mixed(24)}",
        f"\\nghp_{mixed(36)}",
        f"hf_{letters(34)}",
        PEM.partition("-----END")[0],
        f"private_key: {PEM}",
        f"private_key: {PEM.partition('-----END')[0]}",
        PEM.replace("\n", "\\n"),
    ],
)
def test_a_secret_in_any_dress_is_seen(text):
    shown = redactor.text(text)

    assert "[redacted:" in shown
    for secret in (mixed(8), hexadecimal(16), letters(20), "0532", "DEUTDEFF500", "901820"):
        assert secret not in shown


@pytest.mark.parametrize(
    "text",
    [
        "bearer of bad news, basic usagehere, token bucket-limit",
        "Basic realmnames and basic ====aaaa",
        "digest attempt=2 is fine; digest realm",
        "authorization: token expired",
        "https://[2001:db8::1]:8080/x@y and https://h:8080/a@b",
        "docker://registry:5000/img@sha256:" + hexadecimal(64),
        "https://jane.doe@host/x https://:@host",
        "https://host:@x/ https://a:***@host",
        "a starts with -----BEGIN PRIVATE KEY----- they say",
        "data eJxhelloworldhelloworld and H4sIAAAAAAAAAAAAAAAA",
        "+1234567 (123) 456-7890 +1 2 passport ABCDEFG bic abcdefgh swift TAYLOR",
        "mypassport 12345678, DE89370400440532013001",
        "100% sure, 5%2 of it, %zz",
        "a &amp; b &lt; c",
        r"\x41\x42 is AB, C:\new\table",
        "[0m not a colour",
        "cookie: expired; cookie = jar; Set-Cookie: sid=***; Path=/",
        'password="***" token="" secret=null',
        "the passport number is missing, phone: n/a, ssn unknown",
        "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7",
        in_base64("a plain text: about nothing in particular, on several") + "\nwords follow",
        "IyEvYmluL3NoCmVjaG8gaGVsbG8K\x00",
        "SWYgeW91IGNhbiByZWFk\xff",
        base64.b64encode(b"readable at first, but then\xff\xfe").decode(),
        "%2525252541 is four layers of A",
    ],
)
def test_what_introduces_no_secret_changes_nothing(text):
    assert redactor.text(text) == text


def test_cookies_keep_their_names_and_attributes():
    attributes = "Path=/; HttpOnly; Expires=Wed, 21 Oct 2026 07:28:00 GMT"
    shown = redactor.text(f"Set-Cookie: sid={mixed(20)}; {attributes}; {mixed(9)}")

    assert MARKER.sub("*", shown) == f"Set-Cookie: sid=*; {attributes}; *"


@pytest.mark.parametrize(
    "written",
    [
        KNOWN,
        json.dumps(KNOWN),
        json.dumps(json.dumps(KNOWN)),
        repr({"x": KNOWN}),
        "Zr8%21known%2Fva%20lue%2B1%C3%B1",
        "Zr8!known%2fva+lue%2b1%c3%b1",
        "Zr8%2521known%252Fva%2520lue%252B1%25C3%25B1",
        base64.b64encode(KNOWN.encode()).decode(),
        base64.b64encode(b"a" + KNOWN.encode() + b"b").decode(),
        base64.urlsafe_b64encode(b"ab" + KNOWN.encode() + b"c").decode(),
        KNOWN.encode().hex(),
    ],
)
def test_a_known_value_is_hidden_however_it_is_written(written):
    shown = Redactor(known_values=[KNOWN]).text(f"see {written} there")

    assert "[redacted:known:" in shown
    assert "known/" not in shown
    assert shown.startswith("see ")
    assert shown.endswith(" there")


def test_a_known_value_that_is_a_word_hides_nothing():
    knowing = Redactor(known_values=["airflow", "postgres", "apache-airflow", "12345678"])

    assert (
        knowing.text("apache-airflow on postgres 12345678") == "apache-airflow on postgres 12345678"
    )


@pytest.mark.parametrize(
    ("value", "maskable"),
    [
        ("hunter2", False),
        ("aaaaaaaaaaaaaaaa", False),
        ("Production", False),
        ("PRODUCTION", False),
        ("1234567890123", False),
        ("1234567890123456", True),
        ("a-passphrase-of-words", True),
        ("hunter2hunter", True),
        ("kZxQvTbN", True),
    ],
)
def test_a_known_value_must_be_told_from_words_and_small_numbers(value, maskable):
    assert is_maskable(value) is maskable


def test_a_program_can_name_secrets_of_its_own():
    own = Redactor(extra_keys=["Kundennummer", "x-internal id", "!"])

    assert own.text("kundennummer: 12345") == "kundennummer: [redacted:secret]"
    assert own.text("X_INTERNAL_ID=abc") == "X_INTERNAL_ID=[redacted:secret]"
    assert own.value({"xInternalId": 5, "other": 5}) == {
        "xInternalId": "[redacted:secret]",
        "other": 5,
    }


def test_phones_and_mail_are_hidden_by_choice():
    text = "phone: +49 30 901820, jane.doe@example.co.uk, mobile 030 901820-12, (415) 555-0132"

    assert "901820" not in redactor.text(text)
    assert "jane.doe@example.co.uk" in redactor.text(text)
    assert Redactor(mask_phone=False).text(text) == text
    assert Redactor(mask_phone=False, mask_email=True).text(text) == text.replace(
        "jane.doe", "j***"
    )


def test_long_data_that_was_encoded_and_is_no_text_stays_as_it_is():
    data = base64.b64encode(b"kelpreefcoveduneharbourlantern" * 700).decode()

    assert redactor.text(f"uploaded {data}") == f"uploaded {data}"
