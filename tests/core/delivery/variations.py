"""What differs from the table of deliveries, by situation; what is not listed is as there."""

from typing import NamedTuple

from holdfast.core.delivery.promise import Promise
from tests.core.delivery.deliveries import LAG_S, NOW, PROMISES, STANDINGS, WINDOW_S, after

VARIATIONS = {
    "whose provider can only look up": """
""",
    "whose provider only drops what it has seen": """
sending  SendBegun    | sending  -1     held  2        0       -60    -    -        -
sending  Lost         | sending  +8     -     1        0       -60    -    -        NETWORK_TIMEOUT
sending  Bug          | unknown  +0     -     1        0       -60    -    -        BUG
sending  Missing      | unknown  +0     -     1        0       -60    -    -        -
sending  CourierLost  | sending  +8     -     1        0       -60    -    -        WORKER_LOST
asking   SendBegun    | sending  -1     held  2        0       -60    -    -        NETWORK_TIMEOUT
asking   Lost         | sending  +8     -     1        0       -60    -    -        NETWORK_TIMEOUT
asking   Bug          | unknown  +0     -     1        0       -60    -    -        BUG
asking   Missing      | unknown  +0     -     1        0       -60    -    -        NETWORK_TIMEOUT
sent     RecMissing   | unmoved
unknown  RecMissing   | unknown  -1     -     1        0       -60    -    -        NETWORK_TIMEOUT
""",
    "whose provider wants an id that is not known": """
sending  SendBegun    | sending  -1     held  2        0       -60    -    -        -
sending  Lost         | sending  +8     -     1        0       -60    -    -        NETWORK_TIMEOUT
sending  Bug          | unknown  +0     -     1        0       -60    -    -        BUG
sending  Missing      | unknown  +0     -     1        0       -60    -    -        -
sending  CourierLost  | sending  +8     -     1        0       -60    -    -        WORKER_LOST
asking   SendBegun    | sending  -1     held  2        0       -60    -    -        NETWORK_TIMEOUT
asking   Lost         | sending  +8     -     1        0       -60    -    -        NETWORK_TIMEOUT
asking   Bug          | unknown  +0     -     1        0       -60    -    -        BUG
asking   Missing      | unknown  +0     -     1        0       -60    -    -        NETWORK_TIMEOUT
unknown  RecMissing   | unknown  -1     -     1        0       -60    -    -        NETWORK_TIMEOUT
""",
    "whose provider does neither": """
sending  Lost         | unknown  +0     -     1        0       -60    -    -        NETWORK_TIMEOUT
sending  Bug          | unknown  +0     -     1        0       -60    -    -        BUG
sending  Missing      | unknown  +0     -     1        0       -60    -    -        -
sending  Parked       | unknown  +0     -     1        0       -60    -    -        -
sending  CourierLost  | unknown  +0     -     1        0       -60    -    -        WORKER_LOST
asking   Lost         | unknown  +0     -     1        0       -60    -    -        NETWORK_TIMEOUT
asking   Bug          | unknown  +0     -     1        0       -60    -    -        BUG
asking   Missing      | unknown  +0     -     1        0       -60    -    -        NETWORK_TIMEOUT
asking   Parked       | unknown  +0     -     1        0       -60    -    -        NETWORK_TIMEOUT
sent     RecMissing   | unmoved
unknown  AskedAgain   | unmoved
unknown  AskedByOther | unknown  -1     -     1        0       -60    -    -        NETWORK_TIMEOUT
unknown  RecMissing   | unknown  -1     -     1        0       -60    -    -        NETWORK_TIMEOUT
""",
    "in the last attempt": """
sending  Accepted     | sent     +0     -     3        0       -60    m-1  +0       -
sending  Busy         | failed   +0     -     3        0       -      -    -        RATE_LIMITED
sending  Refused      | failed   +0     -     3        0       -      -    -        INVALID
sending  Lost         | sending  +0     -     3        0       -60    -    -        NETWORK_TIMEOUT
sending  Bug          | sending  +0     -     3        0       -60    -    -        BUG
sending  HandedBack   | sending  +0     -     3        0       -60    -    -        -
sending  Unsent       | intent   +5     -     2        0       -      -    -        -
sending  Postponed    | intent   +57750 -     2        0       -      -    -        QUOTA_EXCEEDED
sending  Found        | sent     +0     -     3        0       -60    m-1  +0       -
sending  Missing      | failed   +0     -     3        0       -      -    -        WORKER_LOST
sending  Silence      | sending  +4     -     3        1       -60    -    -        -
sending  CourierLost  | sending  +0     -     3        0       -60    -    -        WORKER_LOST
sending  AskedByOther | sending  -1     held  3        0       -60    -    -        -
asking   Accepted     | sent     +0     -     3        0       -60    m-1  +0       -
asking   Busy         | failed   +0     -     3        0       -      -    -        RATE_LIMITED
asking   Refused      | failed   +0     -     3        0       -      -    -        INVALID
asking   Lost         | sending  +0     -     3        0       -60    -    -        NETWORK_TIMEOUT
asking   Bug          | sending  +0     -     3        0       -60    -    -        BUG
asking   HandedBack   | sending  +0     -     3        0       -60    -    -        NETWORK_TIMEOUT
asking   Unsent       | intent   +5     -     2        0       -      -    -        NETWORK_TIMEOUT
asking   Postponed    | intent   +57750 -     2        0       -      -    -        QUOTA_EXCEEDED
asking   Found        | sent     +0     -     3        0       -60    m-1  +0       -
asking   Missing      | failed   +0     -     3        0       -      -    -        NETWORK_TIMEOUT
asking   Silence      | sending  +4     -     3        1       -60    -    -        NETWORK_TIMEOUT
asking   CourierLost  | sending  +0     -     3        0       -60    -    -        NETWORK_TIMEOUT
asking   AskedByOther | sending  -1     held  3        0       -60    -    -        NETWORK_TIMEOUT
unknown  Accepted     | sent     +0     -     3        0       -60    m-1  +0       -
unknown  SaysSent     | sent     +0     -     3        0       -60    -    +0       -
unknown  SaysFail     | failed   +0     -     3        0       -      -    -        WITHDRAWN
unknown  RecFound     | sent     +0     -     3        0       -60    m-1  +0       -
unknown  RecMissing   | failed   +0     -     3        0       -      -    -        NETWORK_TIMEOUT
unknown  RecSilence   | unknown  -1     -     3        0       -60    -    -        NETWORK_TIMEOUT
""",
    "in the last attempt, with nothing to look up": """
sending  Accepted     | sent     +0     -     3        0       -60    m-1  +0       -
sending  Busy         | failed   +0     -     3        0       -      -    -        RATE_LIMITED
sending  Refused      | failed   +0     -     3        0       -      -    -        INVALID
sending  Lost         | unknown  +0     -     3        0       -60    -    -        NETWORK_TIMEOUT
sending  Bug          | unknown  +0     -     3        0       -60    -    -        BUG
sending  HandedBack   | sending  +0     -     3        0       -60    -    -        -
sending  Unsent       | intent   +5     -     2        0       -      -    -        -
sending  Postponed    | intent   +57750 -     2        0       -      -    -        QUOTA_EXCEEDED
sending  Found        | sent     +0     -     3        0       -60    m-1  +0       -
sending  Missing      | unknown  +0     -     3        0       -60    -    -        -
sending  Silence      | sending  +4     -     3        1       -60    -    -        -
sending  Parked       | unknown  +0     -     3        0       -60    -    -        -
sending  CourierLost  | unknown  +0     -     3        0       -60    -    -        WORKER_LOST
sending  AskedByOther | sending  -1     held  3        0       -60    -    -        -
asking   Accepted     | sent     +0     -     3        0       -60    m-1  +0       -
asking   Busy         | failed   +0     -     3        0       -      -    -        RATE_LIMITED
asking   Refused      | failed   +0     -     3        0       -      -    -        INVALID
asking   Lost         | unknown  +0     -     3        0       -60    -    -        NETWORK_TIMEOUT
asking   Bug          | unknown  +0     -     3        0       -60    -    -        BUG
asking   HandedBack   | sending  +0     -     3        0       -60    -    -        NETWORK_TIMEOUT
asking   Unsent       | intent   +5     -     2        0       -      -    -        NETWORK_TIMEOUT
asking   Postponed    | intent   +57750 -     2        0       -      -    -        QUOTA_EXCEEDED
asking   Found        | sent     +0     -     3        0       -60    m-1  +0       -
asking   Missing      | unknown  +0     -     3        0       -60    -    -        NETWORK_TIMEOUT
asking   Silence      | sending  +4     -     3        1       -60    -    -        NETWORK_TIMEOUT
asking   Parked       | unknown  +0     -     3        0       -60    -    -        NETWORK_TIMEOUT
asking   CourierLost  | sending  +0     -     3        0       -60    -    -        NETWORK_TIMEOUT
asking   AskedByOther | sending  -1     held  3        0       -60    -    -        NETWORK_TIMEOUT
""",
    "before the last lookup": """
claimed  Accepted     | sent     +0     -     0        2       -      m-1  +0       -
claimed  HandedBack   | intent   +0     -     0        2       -      -    -        -
claimed  Unsent       | intent   +5     -     0        2       -      -    -        -
claimed  Found        | sent     +0     -     0        2       -      m-1  +0       -
claimed  Missing      | intent   +0     -     0        3       -      -    -        -
claimed  Silence      | intent   +0     -     0        3       -      -    -        -
claimed  CourierLost  | intent   +0     -     0        2       -      -    -        -
claimed  AskedByOther | intent   -1     held  0        2       -      -    -        -
asking   Accepted     | sent     +0     -     1        2       -60    m-1  +0       -
asking   Lost         | sending  +0     -     1        2       -60    -    -        NETWORK_TIMEOUT
asking   Bug          | sending  +0     -     1        2       -60    -    -        BUG
asking   HandedBack   | sending  +0     -     1        2       -60    -    -        NETWORK_TIMEOUT
asking   Found        | sent     +0     -     1        2       -60    m-1  +0       -
asking   Silence      | unknown  +0     -     1        3       -60    -    -        NETWORK_TIMEOUT
asking   CourierLost  | sending  +0     -     1        2       -60    -    -        NETWORK_TIMEOUT
asking   AskedByOther | sending  -1     held  1        2       -60    -    -        NETWORK_TIMEOUT
""",
    "with an earlier send open": """
sending  Accepted     | sent     +0     -     1        0       -90    m-1  +0       -
sending  Busy         | sending  +0     -     1        0       -90    -    -        RATE_LIMITED
sending  Refused      | sending  +0     -     1        0       -90    -    -        INVALID
sending  Lost         | sending  +0     -     1        0       -90    -    -        NETWORK_TIMEOUT
sending  Bug          | sending  +0     -     1        0       -90    -    -        BUG
sending  HandedBack   | sending  +0     -     1        0       -90    -    -        -
sending  Unsent       | sending  +5     -     0        0       -90    -    -        -
sending  Postponed    | sending  +0     -     0        0       -90    -    -        QUOTA_EXCEEDED
sending  Found        | sent     +0     -     1        0       -90    m-1  +0       -
sending  Silence      | sending  +4     -     1        1       -90    -    -        -
sending  CourierLost  | sending  +0     -     1        0       -90    -    -        WORKER_LOST
sending  AskedByOther | sending  -1     held  1        0       -90    -    -        -
""",
    "with an earlier send open, and only the token to go by": """
sending  SendBegun    | sending  -1     held  2        0       -90    -    -        -
sending  Accepted     | sent     +0     -     1        0       -90    m-1  +0       -
sending  Busy         | sending  +8     -     1        0       -90    -    -        RATE_LIMITED
sending  Refused      | unknown  +0     -     1        0       -90    -    -        INVALID
sending  Lost         | sending  +8     -     1        0       -90    -    -        NETWORK_TIMEOUT
sending  Bug          | unknown  +0     -     1        0       -90    -    -        BUG
sending  HandedBack   | sending  +0     -     1        0       -90    -    -        -
sending  Unsent       | sending  +5     -     0        0       -90    -    -        -
sending  Postponed    | sending  +57750 -     0        0       -90    -    -        QUOTA_EXCEEDED
sending  Found        | sent     +0     -     1        0       -90    m-1  +0       -
sending  Missing      | unknown  +0     -     1        0       -90    -    -        -
sending  Silence      | sending  +4     -     1        1       -90    -    -        -
sending  CourierLost  | sending  +8     -     1        0       -90    -    -        WORKER_LOST
sending  AskedByOther | sending  -1     held  1        0       -90    -    -        -
""",
    "with an earlier send open, and nothing to go by": """
sending  Accepted     | sent     +0     -     1        0       -90    m-1  +0       -
sending  Busy         | unknown  +0     -     1        0       -90    -    -        RATE_LIMITED
sending  Refused      | unknown  +0     -     1        0       -90    -    -        INVALID
sending  Lost         | unknown  +0     -     1        0       -90    -    -        NETWORK_TIMEOUT
sending  Bug          | unknown  +0     -     1        0       -90    -    -        BUG
sending  HandedBack   | sending  +0     -     1        0       -90    -    -        -
sending  Unsent       | sending  +5     -     0        0       -90    -    -        -
sending  Postponed    | sending  +57750 -     0        0       -90    -    -        QUOTA_EXCEEDED
sending  Found        | sent     +0     -     1        0       -90    m-1  +0       -
sending  Missing      | unknown  +0     -     1        0       -90    -    -        -
sending  Silence      | sending  +4     -     1        1       -90    -    -        -
sending  Parked       | unknown  +0     -     1        0       -90    -    -        -
sending  CourierLost  | unknown  +0     -     1        0       -90    -    -        WORKER_LOST
sending  AskedByOther | sending  -1     held  1        0       -90    -    -        -
""",
    "at the end of the window": """
sending  Accepted     | sent     +0     -     1        0       -3590  m-1  +0       -
sending  Busy         | unknown  +0     -     1        0       -3590  -    -        RATE_LIMITED
sending  Refused      | unknown  +0     -     1        0       -3590  -    -        INVALID
sending  Lost         | unknown  +0     -     1        0       -3590  -    -        NETWORK_TIMEOUT
sending  Bug          | unknown  +0     -     1        0       -3590  -    -        BUG
sending  HandedBack   | sending  +0     -     1        0       -3590  -    -        -
sending  Unsent       | sending  +5     -     0        0       -3590  -    -        -
sending  Postponed    | sending  +57750 -     0        0       -3590  -    -        QUOTA_EXCEEDED
sending  Found        | sent     +0     -     1        0       -3590  m-1  +0       -
sending  Missing      | unknown  +0     -     1        0       -3590  -    -        -
sending  Silence      | sending  +4     -     1        1       -3590  -    -        -
sending  Parked       | unknown  +0     -     1        0       -3590  -    -        -
sending  CourierLost  | unknown  +0     -     1        0       -3590  -    -        WORKER_LOST
sending  AskedByOther | sending  -1     held  1        0       -3590  -    -        -
asking   Accepted     | sent     +0     -     1        0       -3590  m-1  +0       -
asking   Busy         | unknown  +0     -     1        0       -3590  -    -        RATE_LIMITED
asking   Refused      | unknown  +0     -     1        0       -3590  -    -        INVALID
asking   Lost         | unknown  +0     -     1        0       -3590  -    -        NETWORK_TIMEOUT
asking   Bug          | unknown  +0     -     1        0       -3590  -    -        BUG
asking   HandedBack   | sending  +0     -     1        0       -3590  -    -        NETWORK_TIMEOUT
asking   Unsent       | sending  +5     -     0        0       -3590  -    -        NETWORK_TIMEOUT
asking   Postponed    | sending  +57750 -     0        0       -3590  -    -        QUOTA_EXCEEDED
asking   Found        | sent     +0     -     1        0       -3590  m-1  +0       -
asking   Missing      | unknown  +0     -     1        0       -3590  -    -        NETWORK_TIMEOUT
asking   Silence      | sending  +4     -     1        1       -3590  -    -        NETWORK_TIMEOUT
asking   Parked       | unknown  +0     -     1        0       -3590  -    -        NETWORK_TIMEOUT
asking   CourierLost  | sending  +0     -     1        0       -3590  -    -        NETWORK_TIMEOUT
asking   AskedByOther | sending  -1     held  1        0       -3590  -    -        NETWORK_TIMEOUT
""",
    "before a lookup can be believed": """
asking   Accepted     | sent     +0     -     1        0       -20    m-1  +0       -
asking   Busy         | sending  +0     -     1        0       -20    -    -        RATE_LIMITED
asking   Refused      | sending  +0     -     1        0       -20    -    -        INVALID
asking   Lost         | sending  +0     -     1        0       -20    -    -        NETWORK_TIMEOUT
asking   Bug          | sending  +0     -     1        0       -20    -    -        BUG
asking   HandedBack   | sending  +0     -     1        0       -20    -    -        NETWORK_TIMEOUT
asking   Unsent       | sending  +5     -     0        0       -20    -    -        NETWORK_TIMEOUT
asking   Postponed    | sending  +0     -     0        0       -20    -    -        QUOTA_EXCEEDED
asking   Found        | sent     +0     -     1        0       -20    m-1  +0       -
asking   Missing      | sending  +10    -     1        0       -20    -    -        NETWORK_TIMEOUT
asking   Silence      | sending  +10    -     1        0       -20    -    -        NETWORK_TIMEOUT
asking   CourierLost  | sending  +0     -     1        0       -20    -    -        NETWORK_TIMEOUT
asking   AskedByOther | sending  -1     held  1        0       -20    -    -        NETWORK_TIMEOUT
unknown  Accepted     | sent     +0     -     1        0       -20    m-1  +0       -
unknown  AskedAgain   | sending  +0     -     0        0       -20    -    -        NETWORK_TIMEOUT
unknown  AskedByOther | sending  +0     -     0        0       -20    -    -        NETWORK_TIMEOUT
unknown  SaysSent     | sent     +0     -     1        0       -20    -    +0       -
unknown  RecFound     | sent     +0     -     1        0       -20    m-1  +0       -
unknown  RecMissing   | unknown  -1     -     1        0       -20    -    -        NETWORK_TIMEOUT
unknown  RecSilence   | unknown  -1     -     1        0       -20    -    -        NETWORK_TIMEOUT
""",
    "when the provider has forgotten": """
sending  Lost         | unknown  +0     -     1        0       -60    -    -        NETWORK_TIMEOUT
sending  Bug          | unknown  +0     -     1        0       -60    -    -        BUG
sending  Missing      | unknown  +0     -     1        0       -60    -    -        -
sending  Parked       | unknown  +0     -     1        0       -60    -    -        -
sending  CourierLost  | unknown  +0     -     1        0       -60    -    -        WORKER_LOST
asking   Lost         | unknown  +0     -     1        0       -60    -    -        NETWORK_TIMEOUT
asking   Bug          | unknown  +0     -     1        0       -60    -    -        BUG
asking   Missing      | unknown  +0     -     1        0       -60    -    -        NETWORK_TIMEOUT
asking   Parked       | unknown  +0     -     1        0       -60    -    -        NETWORK_TIMEOUT
unknown  AskedAgain   | unmoved
unknown  AskedByOther | unknown  -1     -     1        0       -60    -    -        NETWORK_TIMEOUT
unknown  RecMissing   | unknown  -1     -     1        0       -60    -    -        NETWORK_TIMEOUT
""",
    "just marked": """
sent     RecFound     | sent     -1     -     1        0       -60    m-1  -29      -
sent     RecMissing   | unmoved
""",
    "marked long ago": """
sent     RecMissing   | unmoved
""",
    "at the end of the lease": """
claimed  CourierLost  | unmoved
sending  CourierLost  | unmoved
asking   CourierLost  | unmoved
""",
    "whose mark was taken back before": """
sent     RecFound     | sent     -1     -     1        0       -60    m-1  -50      EVIDENCE_MISSING
sent     RecMissing   | unknown  -1     -     1        0       -50    m-1  -        EVIDENCE_MISSING
unknown  Accepted     | sent     +0     -     1        0       -60    m-1  +0       EVIDENCE_MISSING
unknown  AskedAgain   | unmoved
unknown  AskedByOther | unknown  -1     -     1        0       -60    -    -        EVIDENCE_MISSING
unknown  SaysSent     | sent     +0     -     1        0       -60    -    +0       EVIDENCE_MISSING
unknown  RecFound     | sent     +0     -     1        0       -60    m-1  +0       EVIDENCE_MISSING
unknown  RecMissing   | unknown  -1     -     1        0       -60    -    -        EVIDENCE_MISSING
unknown  RecSilence   | unknown  -1     -     1        0       -60    -    -        EVIDENCE_MISSING
sending  Accepted     | sent     +0     -     1        0       -60    m-1  +0       EVIDENCE_MISSING
sending  HandedBack   | sending  +0     -     1        0       -60    -    -        EVIDENCE_MISSING
sending  Unsent       | intent   +5     -     0        0       -      -    -        EVIDENCE_MISSING
sending  Found        | sent     +0     -     1        0       -60    m-1  +0       EVIDENCE_MISSING
sending  Silence      | sending  +4     -     1        1       -60    -    -        EVIDENCE_MISSING
sending  AskedByOther | sending  -1     held  1        0       -60    -    -        EVIDENCE_MISSING
""",
    "that a person gave up": """
failed   AskedAgain   | unmoved
failed   AskedByOther | failed   -1     -     1        0       -      -    -        WITHDRAWN
failed   SaysFail     | unmoved
""",
    "with an id and no time": """
claimed  SendBegun    | unmoved
claimed  HandedBack   | intent   +0     -     0        0       -      m-0  -        -
claimed  Unsent       | intent   +5     -     0        0       -      m-0  -        -
claimed  Missing      | intent   +0     -     0        0       -      -    -        -
claimed  Silence      | intent   +4     -     0        1       -      m-0  -        -
claimed  CourierLost  | intent   +0     -     0        0       -      m-0  -        -
claimed  AskedByOther | intent   -1     held  0        0       -      m-0  -        -
""",
    "with a time and no mark": """
claimed  SendBegun    | unmoved
claimed  HandedBack   | intent   +0     -     0        0       -      -    -50      -
claimed  Unsent       | intent   +5     -     0        0       -      -    -50      -
claimed  Missing      | unknown  +0     -     0        0       -      -    -50      -
claimed  Silence      | intent   +4     -     0        1       -      -    -50      -
claimed  Parked       | unknown  +0     -     0        0       -      -    -50      -
claimed  CourierLost  | intent   +0     -     0        0       -      -    -50      -
claimed  AskedByOther | intent   -1     held  0        0       -      -    -50      -
""",
}


class Situation(NamedTuple):
    promise: Promise
    delivery: dict
    standings: tuple[str, ...] = tuple(STANDINGS)


SITUATIONS = {
    "whose provider can only look up": Situation(PROMISES["lookup"], {}),
    "whose provider only drops what it has seen": Situation(PROMISES["dedupes"], {}),
    "whose provider wants an id that is not known": Situation(
        Promise(dedupes_for=WINDOW_S, lookup_lag=LAG_S, lookup_needs_id=True), {}
    ),
    "whose provider does neither": Situation(PROMISES["neither"], {}),
    "in the last attempt": Situation(
        PROMISES["both"], {"attempts": 3}, ("sending", "asking", "unknown")
    ),
    "in the last attempt, with nothing to look up": Situation(
        PROMISES["dedupes"], {"attempts": 3}, ("sending", "asking")
    ),
    "before the last lookup": Situation(PROMISES["both"], {"lookups": 2}, ("claimed", "asking")),
    "with an earlier send open": Situation(
        PROMISES["both"], {"began_at": after(-90)}, ("sending",)
    ),
    "with an earlier send open, and only the token to go by": Situation(
        PROMISES["dedupes"], {"began_at": after(-90)}, ("sending",)
    ),
    "with an earlier send open, and nothing to go by": Situation(
        PROMISES["neither"], {"began_at": after(-90)}, ("sending",)
    ),
    "at the end of the window": Situation(
        PROMISES["dedupes"], {"began_at": after(-3590)}, ("sending", "asking")
    ),
    "before a lookup can be believed": Situation(
        PROMISES["lookup"],
        {"began_at": after(-20), "doubted_at": after(-20)},
        ("asking", "unknown"),
    ),
    "when the provider has forgotten": Situation(
        Promise(lookup_lag=30, lookup_for=60), {}, ("sending", "asking", "unknown")
    ),
    "just marked": Situation(PROMISES["both"], {"notified_at": after(-29)}, ("sent",)),
    "marked long ago": Situation(Promise(lookup_lag=30, lookup_for=50), {}, ("sent",)),
    "at the end of the lease": Situation(
        PROMISES["both"], {"lease_until": NOW}, ("claimed", "sending", "asking")
    ),
    "whose mark was taken back before": Situation(
        PROMISES["both"], {"error_class": "EVIDENCE_MISSING"}, ("sent", "unknown", "sending")
    ),
    "that a person gave up": Situation(PROMISES["both"], {"error_class": "WITHDRAWN"}, ("failed",)),
    "with an id and no time": Situation(PROMISES["both"], {"notification_id": "m-0"}, ("claimed",)),
    "with a time and no mark": Situation(
        PROMISES["dedupes"], {"notified_at": after(-50)}, ("claimed",)
    ),
}
