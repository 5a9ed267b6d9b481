"""Whether a value looks like a secret, or like what people write where a secret belongs."""

from __future__ import annotations

import re
from typing import Final

from holdfast.redaction.marker import MARKER
from holdfast.redaction.patterns.alternation import words

_STAND_IN: Final = re.compile(
    r"""(?:
        [*•xX.…#?_\-]{1,64}                        # ***, xxxx, ...
      | \$\{[A-Za-z_][\w.]{0,63}\}                 # ${API_KEY}
      | \$(?:[A-Z_][A-Z0-9_]{0,63}|[0-9]{1,3})     # $API_KEY, $1
      | \{\{[\w .|"'\[\]()$\-]{1,80}\}\}           # {{ secrets.X }}
      | \{[A-Za-z_]?[\w.]{0,63}\}                  # {password}, {}
      | %(?:\([\w.]{1,64}\))?[sdr]                 # %s, %(password)s
      | %[A-Z_]{1,64}%                             # %PASSWORD%
      | :[a-z_]{1,64}                              # a bound parameter
      | <[A-Za-z_][A-Za-z_ .:\-]{0,63}>            # <redacted>, <your-token>
      | <[\w. ]{1,80}\ object\ at\ 0x[0-9a-fA-F]{1,16}>
      | [\[(]{0,2}(?i:redacted|filtered|hidden|masked|removed|scrubbed|omitted)[\])]{0,2}
      | \[\] | \(\)
      | [|>]?[+\-]?(?:%0[aAdD]|%20|\\[nr]){0,8}      # the line ends before the value
      | (?i:none|null|nil|undefined|true|false|yes|no|on|off|n/a|unset|empty|set|notset)
    )""",
    re.VERBOSE,
)

# What follows "password:" in a sentence rather than being one.
_SAID_OF_SECRETS: Final = frozenset(
    words(
        """
    a accepted all an and are at authentication bad been before blank cannot changed check
    declined denied disabled does doesn enabled expected expired expires failed field for found from
    generated granted has have if in incorrect invalid is it length locked mandatory match matched
    matches mismatch missing must needed needs new not null of ok okay only optional or per please
    policy present protected provided refused rejected required requires reset revoked rotated same
    see should string the this to too unauthorized unchanged unknown unsupported updated use used
    user valid value verified was weak will with without wrong you your
    """
    )
)

# A UUID, a date, a number in hexadecimal.
_NOT_BY_CHANCE: Final = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:$|[T ])|0x[0-9a-fA-F]{1,16}$"
)
_CHANGE: Final = re.compile(
    r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])|(?<=[A-Z]{2})(?=[a-z])"
)
_CODE: Final = re.compile(
    r"""(?:
        (?:await|yield|new|lambda|not|if)\s
      | [A-Za-z_]\w{0,63}(?:\.[A-Za-z_]\w{0,63}){0,7}[\[(]   # os.environ[, getenv(
      | (?:self|cls|os|settings|config|cfg|conf|args|kwargs|opts|options|env|request|req|ctx|context
          |app|this|event|params|data|row|obj|user|client|session|process\.env)\.[A-Za-z_][\w.]{0,99}
    )""",
    re.VERBOSE,
)
_IDENTIFIER: Final = re.compile(r"[A-Za-z_]{1,64}")
_TYPES: Final = frozenset(
    {"str", "bytes", "string", "String", "int", "bool", "float", "Any", "Optional", "SecretStr"}
    | {"Literal", "Final", "object", "dict", "list", "Str", "varchar", "text", "Mapping", "Token"}
)
_PLAIN_WORD: Final = re.compile(r"[A-Za-z]?[a-z]{0,14}(?:[-_/.][a-z]{1,14}){0,5}[.,!?]?")
# A count, a share, a version; or too short to be a token.
_SHORT_NUMBER: Final = re.compile(
    r"[+-]?[0-9]{1,5}(?:\.[0-9]{1,6}){0,3}%?|0x[0-9a-fA-F]{1,8}|.{1,3}"
)

_MIN_RANDOM_LENGTH: Final = 8
_MIN_CHANGES: Final = 4
_MAX_PER_CHANGE: Final = 4
_MAX_PER_CHANGE_OF_LETTERS: Final = 2.5
_SAMPLED: Final = 128
_DIGIT: Final = re.compile(r"[0-9]")
_HEX: Final = re.compile(r"[0-9a-f]{16}|[0-9A-F]{16}")

_MIN_MASKABLE_LENGTH: Final = 8
_MIN_DISTINCT: Final = 5
_LONG_VALUE: Final = 16
_SEPARATORS: Final = str.maketrans("", "", "-_. /")


def is_stand_in(value: str) -> bool:
    """Return whether the value says that a secret belongs there, or that one was taken away."""
    stripped = value.strip()
    return not stripped or bool(_STAND_IN.fullmatch(stripped) or MARKER.fullmatch(stripped))


def is_said_of_secrets(value: str) -> bool:
    """Return whether the value is the next word of a sentence about a secret."""
    return value.rstrip(".,;:!?)").lower() in _SAID_OF_SECRETS


def is_plain(value: str) -> bool:
    """Return whether the value is an ordinary word or a small number."""
    return bool(_PLAIN_WORD.fullmatch(value) or _SHORT_NUMBER.fullmatch(value))


def is_short_number(value: str) -> bool:
    """Return whether the value is a number that counts something, or too short to be a token."""
    return bool(_SHORT_NUMBER.fullmatch(value))


def is_code(value: str) -> bool:
    """Return whether the value is an expression that names where a secret comes from."""
    return bool(_CODE.match(value))


def is_type(word: str) -> bool:
    """Return whether the word is a type in a signature."""
    return word in _TYPES


def is_identifier(value: str) -> bool:
    """Return whether the value could be a name in a program."""
    return bool(_IDENTIFIER.fullmatch(value))


def is_random(value: str) -> bool:
    """Return whether the value looks made by chance: letters and digits in no order of a language.

    The kind of character changes more often than in names, even in those that run words together.
    """
    if len(value) < _MIN_RANDOM_LENGTH or _NOT_BY_CHANCE.match(value):
        return False
    if _HEX.search(value):
        return True
    sample = value[:_SAMPLED]
    changes = len(_CHANGE.findall(sample))
    per_change = _MAX_PER_CHANGE if _DIGIT.search(sample) else _MAX_PER_CHANGE_OF_LETTERS
    return changes >= _MIN_CHANGES and len(sample) <= per_change * changes


def is_maskable(value: str) -> bool:
    """Return whether a known secret can be hidden wherever it occurs without hiding ordinary words.

    A password that is also a word, a name or a small number would take evidence with it.
    """
    if len(value) < _MIN_MASKABLE_LENGTH or len(set(value)) < _MIN_DISTINCT:
        return False
    core = value.translate(_SEPARATORS)
    if core.isdigit():
        return len(core) >= _LONG_VALUE
    if len(core) >= _LONG_VALUE:
        return True
    letters_only = core.isalpha() and core[1:] in {core[1:].lower(), core[1:].upper()}
    return not letters_only
