"""Which names of fields, headers, variables and options hold secrets.

A name is read word by word, whatever joins its words: `clientSecret`, `CLIENT-SECRET` and
`db.client_secret_2` are the same, `tokenizer`, `monkey` and `token_count` are something else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.redaction.marker import Kind
from holdfast.redaction.patterns.alternation import words


class Care(Enum):
    """How a value is judged under a name."""

    ALWAYS = "hide whatever it is"
    UNLESS_PLAIN = "hide it unless it is a small number, or an ordinary word in running text"
    IF_RANDOM = "hide it if it looks made by chance"
    IF_SEVERAL = "hide it if it looks made by chance, or has parts"
    IF_LONG = "hide it if it looks made by chance and is long"
    IF_DIGITS = "hide it if it is a short code"
    UNLESS_PATH = "hide it unless it is a directory"
    AUTHORIZATION = "keep the scheme"
    COOKIE = "keep the names of the cookies"
    IF_PHONE = "hide it if it is a phone number"


class Sensitivity(NamedTuple):
    """What a name says of its value."""

    kind: Kind
    care: Care


_PASSWORD: Final = Sensitivity(Kind.PASSWORD, Care.ALWAYS)
_SECRET: Final = Sensitivity(Kind.SECRET, Care.ALWAYS)
_TOKEN: Final = Sensitivity(Kind.TOKEN, Care.UNLESS_PLAIN)
_KEY: Final = Sensitivity(Kind.KEY, Care.UNLESS_PLAIN)
_PRIVATE_KEY: Final = Sensitivity(Kind.PRIVATE_KEY, Care.UNLESS_PLAIN)
_MAYBE: Final = Sensitivity(Kind.SECRET, Care.IF_RANDOM)
_CREDENTIALS: Final = Sensitivity(Kind.CREDENTIALS, Care.IF_SEVERAL)
_WORKING_DIRECTORY: Final = Sensitivity(Kind.PASSWORD, Care.UNLESS_PATH)
_CODE: Final = Sensitivity(Kind.SECRET, Care.IF_DIGITS)
_IDENTITY: Final = Sensitivity(Kind.IDENTITY, Care.IF_DIGITS)

_OF_WORD: Final[dict[str, Sensitivity]] = {
    **dict.fromkeys(
        words(
            """
        password passwd passwrd passwort passord passphrase passcode passkey passwords pswd psw
        userpass dbpass
        contraseña contrasena kennwort passwörter geheimwort motdepasse senha parola parole salasana
        wachtwoord lösenord losenord hasło haslo heslo jelszó jelszo şifre sifre parool kodeord
        adgangskode lozinka slaptažodis пароль парола парола 密码 密碼 口令 パスワード 暗証番号
        비밀번호 암호 סיסמה κωδικός รหัสผ่าน
        """
        ),
        _PASSWORD,
    ),
    **dict.fromkeys(words("mdp clave"), Sensitivity(Kind.PASSWORD, Care.UNLESS_PLAIN)),
    "pass": _PASSWORD,
    "pwd": _WORKING_DIRECTORY,
    **dict.fromkeys(words("secret secrets geheimnis segredo секрет"), _SECRET),
    **dict.fromkeys(words("token jeton токен apitoken"), _TOKEN),
    **dict.fromkeys(words("apikey appkey authkey sshkey"), _KEY),
    **dict.fromkeys(words("privatekey privkey"), _PRIVATE_KEY),
    **dict.fromkeys(
        words(
            """
        tokens session sessionid sessid sid phpsessid
        jsessionid sig signature hmac jwt bearer dsn csrf xsrf csrftoken xsrftoken salt
        samlresponse samlrequest assertion connectionstring connstr connectionuri
        """
        ),
        _MAYBE,
    ),
    **dict.fromkeys(words("auth oauth credential credentials creds"), _CREDENTIALS),
    **dict.fromkeys(words("otp totp pin cvv cvc cvv2"), _CODE),
    **dict.fromkeys(words("ssn nino itin aadhaar pesel cpf iban"), _IDENTITY),
    **dict.fromkeys(
        words("phone telephone mobile cellphone msisdn phonenumber mobilenumber telefon"),
        Sensitivity(Kind.PHONE, Care.IF_PHONE),
    ),
    "authorization": Sensitivity(Kind.AUTHORIZATION, Care.AUTHORIZATION),
    "cookie": Sensitivity(Kind.COOKIE, Care.COOKIE),
    "cookies": Sensitivity(Kind.COOKIE, Care.COOKIE),
}

# Names that mean more, or something else, than their words do; written without separators.
_OF_NAME: Final[dict[str, Sensitivity | None]] = {
    **dict.fromkeys(words("secretid codeverifier oauthverifier userpassword"), _SECRET),
    **dict.fromkeys(words("securitycode cardcode onetimecode verificationcode mfacode"), _CODE),
    **dict.fromkeys(words("cardnumber creditcard creditcardnumber ccnumber pan"), _IDENTITY),
    **dict.fromkeys(
        words(
            """
        socialsecurity socialsecuritynumber passportnumber passportno nationalinsurance
        nationalinsurancenumber driverlicense driverslicense drivinglicence taxid nationalid
        """
        ),
        _IDENTITY,
    ),
    **dict.fromkeys(words("connectionstring authorizationcode authcode sessionid"), _MAYBE),
    "motdepasse": _PASSWORD,
    "matkhau": _PASSWORD,
    "palavrapasse": _PASSWORD,
    "pass": Sensitivity(Kind.PASSWORD, Care.UNLESS_PLAIN),
    "code": Sensitivity(Kind.SECRET, Care.IF_LONG),
}

# Endings of words that were run together, as in `dbpassword` and `PGPASSWORD`.
_OF_ENDING: Final[dict[str, Sensitivity]] = {
    ending: _OF_WORD[ending]
    for ending in words(
        """
        password passwd passphrase secret token apikey privatekey credentials passwort contraseña
        contrasena motdepasse пароль sessionid cookie authorization pwd
        """
    )
} | {
    **dict.fromkeys(words("smtppass mysqlpass userpass dbpass"), _PASSWORD),
    **dict.fromkeys(
        words("accesskey secretkey accountkey signingkey encryptionkey masterkey sharedkey"), _KEY
    ),
}

_KINDS_OF_KEY: Final = frozenset(
    words(
        """
    api app application access secret auth sign signing signature encrypt encryption decrypt
    decryption account shared master admin root consumer webhook subscription function
    functions license licence hmac aes des symmetric session write deploy integration cipher crypto
    jwt vault unseal recovery wrapping instrumentation
    """
    )
)
_KINDS_OF_PRIVATE_KEY: Final = frozenset(words("private priv ssh rsa dsa ecdsa pgp gpg tls ssl"))

# After a secret's name these make it the name of something about the secret.
_ABOUT: Final = frozenset(
    words(
        """
    id ids name names type types kind count counts counter limit limits length len size sizes policy
    policies expiry expires expired expiration exp ttl age lifetime at date time timestamp created
    updated changed modified rotated rotation issued url urls uri endpoint path paths file filename
    files dir directory folder env field fields column columns header headers prefix suffix format
    regex pattern rule rules validator validators validation strength score min max required enabled
    disabled valid invalid verified present missing exists status state error errors message msg
    usage used budget quota rate bucket buckets version versions index position offset pos line
    manager provider store backend service server class module algorithm alg method methods mode
    flow scope scopes audience issuer attempts retries history arn ref reference label title
    description help exchange handler middleware factory builder parser stream ring spec template
    generator generation per price cost ratio sum total avg mean seconds sec ms minutes hours days
    in is has supported ui page form screen view link button model schema table row group domain
    warning warnings exception exceptions failure mismatch threshold info request response mgr
    config options settings context client resource with fd terminator compound dict repr secure
    samesite httponly consent banner jar user username email owner filter filters py pyc js
    jsx ts tsx go rs java kt rb php cs cpp cc hpp so dll json yaml yml toml txt log sql
    md html htm css lock cfg ini conf sh bat exe zip gz tar whl svg png jpg
    """
    )
)
_NOT_A_TOKEN: Final = frozenset(
    words(
        """
        next page continuation cancellation cancel lease fence fencing sync idempotency lexer parse
        unexpected special pad eos bos unk mask stop end start max min total num cached prompt
        completion input output reasoning used remaining
        """
    )
)
# A place in a list, a fence, a piece of text; a round of work; the name of a stored secret.
_MEANS_ELSE: Final = {
    "token": _NOT_A_TOKEN,
    "tokens": _NOT_A_TOKEN,
    "pass": frozenset(
        words(
            """
            first second third single multi one two by test num last next initial final full build
            compiler render optimization low high band all
            """
        )
    ),
    "secret": frozenset({"pull"}),
    "secrets": frozenset({"pull"}),
}

_MAX_NAME_LENGTH: Final = 160
_BOUNDARY: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ESCAPED: Final = re.compile(r"\\{1,15}u([0-9a-fA-F]{4})")
_ESCAPED_BYTES: Final = re.compile(r"(?:\\{1,15}x[0-9a-fA-F]{2}){1,64}")
_WORD: Final = re.compile(r"[^\W_]{1,160}")


class KeyNames:
    """The names that hold secrets: the built-in ones and a program's own."""

    __slots__ = ("_extra", "_phones")

    def __init__(self, extra: Iterable[str] = (), *, phones: bool = True) -> None:
        self._extra: Final = frozenset("".join(words_of(name)) for name in extra)
        self._phones: Final = phones

    def sensitivity(self, name: str) -> Sensitivity | None:
        """What the name says of its value; None when nothing."""
        if len(name) > _MAX_NAME_LENGTH:
            name = name[-_MAX_NAME_LENGTH:]
        if self._extra and "".join(words_of(name)) in self._extra:
            return _SECRET
        found = _sensitivity(name)
        return None if found and found.kind is Kind.PHONE and not self._phones else found


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case, without the digits at their ends."""
    if "\\" in name:
        name = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), name)
        name = _ESCAPED_BYTES.sub(_unescaped_bytes, name)
    if not name.isascii():
        name = unicodedata.normalize("NFC", name)
    spaced = _BOUNDARY.sub("_", name)
    words = (word.lower().strip("0123456789") for word in _WORD.findall(spaced))
    return tuple(word for word in words if word)


def _unescaped_bytes(found: re.Match[str]) -> str:
    return bytes.fromhex(found.group().replace("\\", "").replace("x", "")).decode(errors="replace")


@lru_cache(maxsize=4096)
def _sensitivity(name: str) -> Sensitivity | None:
    parts = words_of(name)
    joined = "".join(parts)
    if joined in _OF_NAME:
        return _OF_NAME[joined]
    for place in range(len(parts) - 1, -1, -1):
        if parts[place] not in _ABOUT:
            found = _of_word(parts, place)
            if found is not None:
                return found
        elif any(_of_word(parts, before) for before in range(place)):
            return None
    return _OF_NAME.get("".join(parts[-3:])) or _OF_NAME.get("".join(parts[-2:]))


def _of_word(parts: tuple[str, ...], place: int) -> Sensitivity | None:
    word = parts[place]
    before = parts[place - 1] if place else ""
    if word in {"key", "keys"}:
        found = _of_key(before)
        return _MAYBE if found and word == "keys" else found
    found = _OF_WORD.get(word)
    if found is None:
        ending = next(filter(word.endswith, _OF_ENDING), None)
        return _OF_ENDING[ending] if ending else None
    return None if before in _MEANS_ELSE.get(word, ()) else found


def _of_key(before: str) -> Sensitivity | None:
    if before in _KINDS_OF_PRIVATE_KEY:
        return _PRIVATE_KEY
    return _KEY if before in _KINDS_OF_KEY else None
