"""What follows from every event for every delivery, written out.

A line reads: a delivery that stands like this, met by that event, leads to this. `-` means empty,
`unmoved` means that nothing is written; instants are seconds before or after the event. The send
of a delivery that has one began a minute ago and was its first of three; the lease is over; the
provider drops what it has seen for an hour and finds everything after half a minute.
"""

from typing import NamedTuple

from holdfast.core.promise import Promise
from tests.core.deliveries import LAG_S, NOW, PROMISES, STANDINGS, WINDOW_S, after

PLAIN = """
before   event        | state    due    lease attempts lookups began  id   notified error

intent   SendBegun    | unmoved
intent   Accepted     | sent     +0     -     0        0       -      m-1  +0       -
intent   Busy         | unmoved
intent   Refused      | unmoved
intent   Lost         | unmoved
intent   Bug          | unmoved
intent   HandedBack   | unmoved
intent   Unsent       | unmoved
intent   Found        | sent     +0     -     0        0       -      m-1  +0       -
intent   Missing      | unmoved
intent   Silence      | unmoved
intent   Parked       | unmoved
intent   CourierLost  | unmoved
intent   AskedAgain   | unmoved
intent   AskedByOther | intent   -1     -     0        0       -      -    -        -
intent   SaysSent     | sent     +0     -     0        0       -      -    +0       -
intent   SaysResend   | unmoved
intent   SaysFail     | failed   +0     -     0        0       -      -    -        WITHDRAWN
intent   RecFound     | sent     +0     -     0        0       -      m-1  +0       -
intent   RecMissing   | unmoved
intent   RecSilence   | unmoved

claimed  SendBegun    | sending  -1     held  1        0       +0     -    -        -
claimed  Accepted     | sent     +0     -     0        0       -      m-1  +0       -
claimed  Busy         | unmoved
claimed  Refused      | unmoved
claimed  Lost         | unmoved
claimed  Bug          | unmoved
claimed  HandedBack   | intent   +0     -     0        0       -      -    -        -
claimed  Unsent       | intent   +5     -     0        0       -      -    -        -
claimed  Found        | sent     +0     -     0        0       -      m-1  +0       -
claimed  Missing      | intent   +0     -     0        1       -      -    -        -
claimed  Silence      | intent   +4     -     0        1       -      -    -        -
claimed  Parked       | unmoved
claimed  CourierLost  | intent   +0     -     0        0       -      -    -        -
claimed  AskedAgain   | unmoved
claimed  AskedByOther | intent   -1     held  0        0       -      -    -        -
claimed  SaysSent     | unmoved
claimed  SaysResend   | unmoved
claimed  SaysFail     | unmoved
claimed  RecFound     | unmoved
claimed  RecMissing   | unmoved
claimed  RecSilence   | unmoved

sending  SendBegun    | unmoved
sending  Accepted     | sent     +0     -     1        0       -60    m-1  +0       -
sending  Busy         | intent   +8     -     1        0       -      -    -        RATE_LIMITED
sending  Refused      | failed   +0     -     1        0       -      -    -        INVALID
sending  Lost         | sending  +30    -     1        0       -60    -    -        NETWORK_TIMEOUT
sending  Bug          | sending  +30    -     1        0       -60    -    -        BUG
sending  HandedBack   | sending  +0     -     1        0       -60    -    -        -
sending  Unsent       | intent   +5     -     0        0       -      -    -        -
sending  Found        | sent     +0     -     1        0       -60    m-1  +0       -
sending  Missing      | intent   +0     -     1        0       -      -    -        -
sending  Silence      | sending  +4     -     1        1       -60    -    -        -
sending  Parked       | unmoved
sending  CourierLost  | sending  +30    -     1        0       -60    -    -        WORKER_LOST
sending  AskedAgain   | unmoved
sending  AskedByOther | sending  -1     held  1        0       -60    -    -        -
sending  SaysSent     | unmoved
sending  SaysResend   | unmoved
sending  SaysFail     | unmoved
sending  RecFound     | unmoved
sending  RecMissing   | unmoved
sending  RecSilence   | unmoved

in-doubt SendBegun    | unmoved
in-doubt Accepted     | sent     +0     -     1        0       -60    m-1  +0       -
in-doubt Busy         | unmoved
in-doubt Refused      | unmoved
in-doubt Lost         | unmoved
in-doubt Bug          | unmoved
in-doubt HandedBack   | unmoved
in-doubt Unsent       | unmoved
in-doubt Found        | sent     +0     -     1        0       -60    m-1  +0       -
in-doubt Missing      | unmoved
in-doubt Silence      | unmoved
in-doubt Parked       | unmoved
in-doubt CourierLost  | unmoved
in-doubt AskedAgain   | unmoved
in-doubt AskedByOther | sending  -1     -     1        0       -60    -    -        NETWORK_TIMEOUT
in-doubt SaysSent     | sent     +0     -     1        0       -60    -    +0       -
in-doubt SaysResend   | intent   +0     -     0        0       -      -    -        -
in-doubt SaysFail     | failed   +0     -     1        0       -      -    -        WITHDRAWN
in-doubt RecFound     | sent     +0     -     1        0       -60    m-1  +0       -
in-doubt RecMissing   | unmoved
in-doubt RecSilence   | unmoved

asking   SendBegun    | unmoved
asking   Accepted     | sent     +0     -     1        0       -60    m-1  +0       -
asking   Busy         | intent   +8     -     1        0       -      -    -        RATE_LIMITED
asking   Refused      | failed   +0     -     1        0       -      -    -        INVALID
asking   Lost         | sending  +30    -     1        0       -60    -    -        NETWORK_TIMEOUT
asking   Bug          | sending  +30    -     1        0       -60    -    -        BUG
asking   HandedBack   | sending  +0     -     1        0       -60    -    -        NETWORK_TIMEOUT
asking   Unsent       | intent   +5     -     0        0       -      -    -        NETWORK_TIMEOUT
asking   Found        | sent     +0     -     1        0       -60    m-1  +0       -
asking   Missing      | intent   +0     -     1        0       -      -    -        NETWORK_TIMEOUT
asking   Silence      | sending  +4     -     1        1       -60    -    -        NETWORK_TIMEOUT
asking   Parked       | unmoved
asking   CourierLost  | sending  +30    -     1        0       -60    -    -        WORKER_LOST
asking   AskedAgain   | unmoved
asking   AskedByOther | sending  -1     held  1        0       -60    -    -        NETWORK_TIMEOUT
asking   SaysSent     | unmoved
asking   SaysResend   | unmoved
asking   SaysFail     | unmoved
asking   RecFound     | unmoved
asking   RecMissing   | unmoved
asking   RecSilence   | unmoved

sent     SendBegun    | unmoved
sent     Accepted     | unmoved
sent     Busy         | unmoved
sent     Refused      | unmoved
sent     Lost         | unmoved
sent     Bug          | unmoved
sent     HandedBack   | unmoved
sent     Unsent       | unmoved
sent     Found        | unmoved
sent     Missing      | unmoved
sent     Silence      | unmoved
sent     Parked       | unmoved
sent     CourierLost  | unmoved
sent     AskedAgain   | unmoved
sent     AskedByOther | unmoved
sent     SaysSent     | unmoved
sent     SaysResend   | unmoved
sent     SaysFail     | unmoved
sent     RecFound     | sent     -1     -     1        0       -60    m-1  -50      -
sent     RecMissing   | intent   +0     -     0        0       -      -    -        EVIDENCE_MISSING
sent     RecSilence   | unmoved

failed   SendBegun    | unmoved
failed   Accepted     | sent     +0     -     1        0       -      m-1  +0       -
failed   Busy         | unmoved
failed   Refused      | unmoved
failed   Lost         | unmoved
failed   Bug          | unmoved
failed   HandedBack   | unmoved
failed   Unsent       | unmoved
failed   Found        | unmoved
failed   Missing      | unmoved
failed   Silence      | unmoved
failed   Parked       | unmoved
failed   CourierLost  | unmoved
failed   AskedAgain   | intent   +0     -     0        0       -      -    -        -
failed   AskedByOther | intent   +0     -     0        0       -      -    -        -
failed   SaysSent     | sent     +0     -     1        0       -      -    +0       -
failed   SaysResend   | intent   +0     -     0        0       -      -    -        -
failed   SaysFail     | unmoved
failed   RecFound     | sent     +0     -     1        0       -      m-1  +0       -
failed   RecMissing   | unmoved
failed   RecSilence   | unmoved

unknown  SendBegun    | unmoved
unknown  Accepted     | sent     +0     -     1        0       -60    m-1  +0       -
unknown  Busy         | unmoved
unknown  Refused      | unmoved
unknown  Lost         | unmoved
unknown  Bug          | unmoved
unknown  HandedBack   | unmoved
unknown  Unsent       | unmoved
unknown  Found        | unmoved
unknown  Missing      | unmoved
unknown  Silence      | unmoved
unknown  Parked       | unmoved
unknown  CourierLost  | unmoved
unknown  AskedAgain   | unmoved
unknown  AskedByOther | unknown  -1     -     1        0       -60    -    -        NETWORK_TIMEOUT
unknown  SaysSent     | sent     +0     -     1        0       -60    -    +0       -
unknown  SaysResend   | intent   +0     -     0        0       -      -    -        -
unknown  SaysFail     | failed   +0     -     1        0       -      -    -        WITHDRAWN
unknown  RecFound     | sent     +0     -     1        0       -60    m-1  +0       -
unknown  RecMissing   | intent   +0     -     1        0       -      -    -        NETWORK_TIMEOUT
unknown  RecSilence   | unknown  -1     -     1        0       -60    -    -        NETWORK_TIMEOUT
"""

# What differs from the table above, by situation. A pair that is not listed is as above.
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
asking   CourierLost  | sending  +8     -     1        0       -60    -    -        WORKER_LOST
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
asking   CourierLost  | sending  +8     -     1        0       -60    -    -        WORKER_LOST
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
asking   CourierLost  | unknown  +0     -     1        0       -60    -    -        WORKER_LOST
sent     RecMissing   | unmoved
unknown  RecMissing   | unknown  -1     -     1        0       -60    -    -        NETWORK_TIMEOUT
""",
    "in the last attempt": """
sending  Accepted     | sent     +0     -     3        0       -60    m-1  +0       -
sending  Busy         | failed   +0     -     3        0       -      -    -        RATE_LIMITED
sending  Refused      | failed   +0     -     3        0       -      -    -        INVALID
sending  Lost         | sending  +30    -     3        0       -60    -    -        NETWORK_TIMEOUT
sending  Bug          | sending  +30    -     3        0       -60    -    -        BUG
sending  HandedBack   | sending  +0     -     3        0       -60    -    -        -
sending  Unsent       | intent   +5     -     2        0       -      -    -        -
sending  Found        | sent     +0     -     3        0       -60    m-1  +0       -
sending  Missing      | failed   +0     -     3        0       -      -    -        WORKER_LOST
sending  Silence      | sending  +4     -     3        1       -60    -    -        -
sending  CourierLost  | sending  +30    -     3        0       -60    -    -        WORKER_LOST
sending  AskedByOther | sending  -1     held  3        0       -60    -    -        -
asking   Accepted     | sent     +0     -     3        0       -60    m-1  +0       -
asking   Busy         | failed   +0     -     3        0       -      -    -        RATE_LIMITED
asking   Refused      | failed   +0     -     3        0       -      -    -        INVALID
asking   Lost         | sending  +30    -     3        0       -60    -    -        NETWORK_TIMEOUT
asking   Bug          | sending  +30    -     3        0       -60    -    -        BUG
asking   HandedBack   | sending  +0     -     3        0       -60    -    -        NETWORK_TIMEOUT
asking   Unsent       | intent   +5     -     2        0       -      -    -        NETWORK_TIMEOUT
asking   Found        | sent     +0     -     3        0       -60    m-1  +0       -
asking   Missing      | failed   +0     -     3        0       -      -    -        NETWORK_TIMEOUT
asking   Silence      | sending  +4     -     3        1       -60    -    -        NETWORK_TIMEOUT
asking   CourierLost  | sending  +30    -     3        0       -60    -    -        WORKER_LOST
asking   AskedByOther | sending  -1     held  3        0       -60    -    -        NETWORK_TIMEOUT
unknown  Accepted     | sent     +0     -     3        0       -60    m-1  +0       -
unknown  AskedByOther | unknown  -1     -     3        0       -60    -    -        NETWORK_TIMEOUT
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
asking   Found        | sent     +0     -     3        0       -60    m-1  +0       -
asking   Missing      | unknown  +0     -     3        0       -60    -    -        NETWORK_TIMEOUT
asking   Silence      | sending  +4     -     3        1       -60    -    -        NETWORK_TIMEOUT
asking   Parked       | unknown  +0     -     3        0       -60    -    -        NETWORK_TIMEOUT
asking   CourierLost  | unknown  +0     -     3        0       -60    -    -        WORKER_LOST
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
asking   Lost         | sending  +30    -     1        2       -60    -    -        NETWORK_TIMEOUT
asking   Bug          | sending  +30    -     1        2       -60    -    -        BUG
asking   HandedBack   | sending  +0     -     1        2       -60    -    -        NETWORK_TIMEOUT
asking   Found        | sent     +0     -     1        2       -60    m-1  +0       -
asking   Silence      | unknown  +0     -     1        3       -60    -    -        NETWORK_TIMEOUT
asking   CourierLost  | sending  +30    -     1        2       -60    -    -        WORKER_LOST
asking   AskedByOther | sending  -1     held  1        2       -60    -    -        NETWORK_TIMEOUT
""",
    "with an earlier send open": """
sending  Accepted     | sent     +0     -     1        0       -90    m-1  +0       -
sending  Busy         | sending  +30    -     1        0       -90    -    -        RATE_LIMITED
sending  Refused      | sending  +30    -     1        0       -90    -    -        INVALID
sending  Lost         | sending  +30    -     1        0       -90    -    -        NETWORK_TIMEOUT
sending  Bug          | sending  +30    -     1        0       -90    -    -        BUG
sending  HandedBack   | sending  +0     -     1        0       -90    -    -        -
sending  Unsent       | sending  +5     -     0        0       -90    -    -        -
sending  Found        | sent     +0     -     1        0       -90    m-1  +0       -
sending  Silence      | sending  +4     -     1        1       -90    -    -        -
sending  CourierLost  | sending  +30    -     1        0       -90    -    -        WORKER_LOST
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
asking   Found        | sent     +0     -     1        0       -3590  m-1  +0       -
asking   Missing      | unknown  +0     -     1        0       -3590  -    -        NETWORK_TIMEOUT
asking   Silence      | sending  +4     -     1        1       -3590  -    -        NETWORK_TIMEOUT
asking   Parked       | unknown  +0     -     1        0       -3590  -    -        NETWORK_TIMEOUT
asking   CourierLost  | unknown  +0     -     1        0       -3590  -    -        WORKER_LOST
asking   AskedByOther | sending  -1     held  1        0       -3590  -    -        NETWORK_TIMEOUT
""",
    "before a lookup can be believed": """
asking   Accepted     | sent     +0     -     1        0       -20    m-1  +0       -
asking   Busy         | sending  +30    -     1        0       -20    -    -        RATE_LIMITED
asking   Refused      | sending  +30    -     1        0       -20    -    -        INVALID
asking   Lost         | sending  +30    -     1        0       -20    -    -        NETWORK_TIMEOUT
asking   Bug          | sending  +30    -     1        0       -20    -    -        BUG
asking   HandedBack   | sending  +0     -     1        0       -20    -    -        NETWORK_TIMEOUT
asking   Unsent       | sending  +5     -     0        0       -20    -    -        NETWORK_TIMEOUT
asking   Found        | sent     +0     -     1        0       -20    m-1  +0       -
asking   Missing      | sending  +10    -     1        0       -20    -    -        NETWORK_TIMEOUT
asking   Silence      | sending  +4     -     1        1       -20    -    -        NETWORK_TIMEOUT
asking   CourierLost  | sending  +30    -     1        0       -20    -    -        WORKER_LOST
asking   AskedByOther | sending  -1     held  1        0       -20    -    -        NETWORK_TIMEOUT
unknown  Accepted     | sent     +0     -     1        0       -20    m-1  +0       -
unknown  AskedByOther | unknown  -1     -     1        0       -20    -    -        NETWORK_TIMEOUT
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
asking   CourierLost  | unknown  +0     -     1        0       -60    -    -        WORKER_LOST
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
        PROMISES["lookup"], {"began_at": after(-20)}, ("asking", "unknown")
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
