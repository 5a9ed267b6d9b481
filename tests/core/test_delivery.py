"""What follows from every event for every delivery, written out.

A line reads: a delivery that stands like this, met by that event, leads to this. `-` means empty,
`unmoved` means that nothing is written; instants are seconds before or after the event. The send
of a delivery that has one began a minute ago and was its first of three; the lease is over; the
provider drops what it has seen for an hour and finds everything after half a minute.
"""

import ast
import inspect
from typing import NamedTuple, get_args

import pytest

from holdfast.core import delivery_change, delivery_lifecycle
from holdfast.core.delivery import Delivery, DeliveryState, token_of
from holdfast.core.delivery_event import DeliveryEvent, HandedBack, SendBegun
from holdfast.core.delivery_lifecycle import (
    STALE_US,
    Step,
    Unmoved,
    breaks_order,
    decide_delivery,
    next_step,
)
from holdfast.core.instant import SECOND_US, Instant
from holdfast.core.promise import Promise
from tests.core.deliveries import (
    BEGAN_AT,
    BUSY,
    EVENTS,
    LAG_S,
    NOW,
    PROMISES,
    STANDINGS,
    WINDOW_S,
    SendFailed,
    a_delivery,
    after,
    failure,
    terms_of,
)

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


def rows_of(table: str) -> dict[tuple[str, str], str]:
    rows = {}
    for line in table.splitlines():
        before, _, result = line.partition(" | ")
        if result and not before.startswith("before"):
            standing, event = before.split()
            rows[standing, event] = " ".join(result.split())
    return rows


def shown(delivery: Delivery | Unmoved) -> str:
    if isinstance(delivery, Unmoved):
        return "unmoved"
    return " ".join(
        (
            delivery.state.value,
            _relative(delivery.run_at),
            "held" if delivery.holder else "-",
            str(delivery.attempts),
            str(delivery.lookups),
            _relative(delivery.began_at),
            delivery.notification_id or "-",
            _relative(delivery.notified_at),
            delivery.error_class or "-",
        )
    )


def _relative(instant: Instant | None) -> str:
    return "-" if instant is None else f"{(instant - NOW) / SECOND_US:+g}"


BASE = rows_of(PLAIN)
CASES = [("", standing, event, expected) for (standing, event), expected in BASE.items()] + [
    (name, standing, event, rows_of(VARIATIONS[name]).get((standing, event), BASE[standing, event]))
    for name, situation in SITUATIONS.items()
    for standing in situation.standings
    for event in EVENTS
]


@pytest.mark.parametrize(("situation", "standing", "event", "expected"), CASES)
def test_what_follows(situation: str, standing: str, event: str, expected: str):
    promise, changes, _ = SITUATIONS.get(situation, Situation(PROMISES["both"], {}))
    before = a_delivery(standing, **changes)

    decided = decide_delivery(before, EVENTS[event], terms_of(promise), NOW, 0.5)

    assert shown(decided) == expected


def test_the_table_names_every_standing_with_every_event():
    assert list(BASE) == [(standing, event) for standing in STANDINGS for event in EVENTS]
    assert {type(event) for event in EVENTS.values()} == set(get_args(DeliveryEvent))
    assert {standing.state for standing in STANDINGS.values()} == set(DeliveryState)
    assert SITUATIONS.keys() == VARIATIONS.keys()
    for name, situation in SITUATIONS.items():
        assert {standing for standing, _ in rows_of(VARIATIONS[name])} <= set(situation.standings)


EVIDENCE = {"Accepted", "Found", "RecFound", "SaysSent"}


def every_decision():
    for promise, changes, standings in (Situation(PROMISES["both"], {}), *SITUATIONS.values()):
        for standing in standings:
            for name, event in EVENTS.items():
                before = a_delivery(standing, **changes)
                decided = decide_delivery(before, event, terms_of(promise), NOW, 0.5)
                if isinstance(decided, Delivery):
                    yield name, before, decided


def test_only_evidence_or_a_person_marks_a_delivery_as_sent():
    marking = {
        name
        for name, before, decided in every_decision()
        if decided.notified_at not in {None, before.notified_at}
    }

    assert marking == EVIDENCE


def test_the_mark_is_one_write():
    for name, before, decided in every_decision():
        if decided.state is DeliveryState.SENT and before.state is not DeliveryState.SENT:
            assert decided.notified_at == NOW, name
            assert decided.holder is decided.lease_until is None, name
            assert not decided.job_told, name


def test_nothing_is_handed_out_before_it_is_written_that_a_send_begins():
    """The one way to `sending` from nothing is the event that is written before the call."""
    for name, before, decided in every_decision():
        if before.began_at is None and decided.began_at is not None:
            assert name == "SendBegun" or before.state is DeliveryState.SENT


def test_the_code_has_one_place_that_sets_the_time_of_notification():
    setting = []
    for module in (delivery_lifecycle, delivery_change):
        for function in ast.walk(ast.parse(inspect.getsource(module))):
            if not isinstance(function, ast.FunctionDef):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.keyword) and node.arg == "notified_at":
                    empty = isinstance(node.value, ast.Constant) and node.value.value is None
                    setting += [] if empty else [function.name]

    assert setting == ["sent"]


def test_a_decision_leaves_the_key_the_message_and_the_revision_alone():
    fixed = ("id", "subject", "recipient", "version", "provider", "token", "message", "created_at")
    for _, before, decided in every_decision():
        assert [getattr(decided, name) for name in (*fixed, "revision")] == [
            getattr(before, name) for name in (*fixed, "revision")
        ]
        assert decided.updated_at == NOW


def test_a_mark_that_is_taken_back_is_told_from_every_other_change():
    broken = {name for name, before, decided in every_decision() if breaks_order(before, decided)}

    assert broken == {"RecMissing"}


def test_who_asked_last_is_who_waits():
    asked = decide_delivery(
        a_delivery("failed"), EVENTS["AskedByOther"], terms_of(PROMISES["both"]), NOW, 0.5
    )

    assert isinstance(asked, Delivery)
    assert (asked.job_id, asked.stage, asked.required) == ("job-2", "notify", False)
    assert not asked.job_told


def test_a_failure_may_allow_fewer_attempts():
    few = failure("INVALID", retryable=True, outcome_known=True, attempts=1)

    decided = decide_delivery(
        a_delivery("sending"), SendFailed(few, BEGAN_AT), terms_of(PROMISES["both"]), NOW, 0.5
    )

    assert isinstance(decided, Delivery)
    assert decided.state is DeliveryState.FAILED


def test_a_provider_that_names_a_time_is_left_alone_until_then():
    later = failure("RATE_LIMITED", retryable=True, outcome_known=True, retry_after_us=90_000_000)

    decided = decide_delivery(
        a_delivery("sending"), SendFailed(later, BEGAN_AT), terms_of(PROMISES["both"]), NOW, 0.5
    )

    assert isinstance(decided, Delivery)
    assert decided.run_at == after(90)


def test_what_is_handed_back_is_due_again_at_once_and_never_in_the_past():
    for until in (None, after(-100)):
        decided = decide_delivery(
            a_delivery("claimed"), HandedBack(None, until), terms_of(PROMISES["both"]), NOW, 0.5
        )
        assert isinstance(decided, Delivery)
        assert decided.run_at == NOW


LONG_AGO = Instant(NOW - STALE_US - 1)
STEPS = {
    "a new intent": (a_delivery("claimed"), PROMISES["both"], Step.SEND),
    "an old intent": (a_delivery("claimed", updated_at=LONG_AGO), PROMISES["both"], Step.LOOK_UP),
    "an intent that is not old yet": (
        a_delivery("claimed", updated_at=Instant(LONG_AGO + 1)),
        PROMISES["both"],
        Step.SEND,
    ),
    "an old intent of a slow provider": (
        a_delivery("claimed", updated_at=LONG_AGO),
        Promise(lookup_lag=3600),
        Step.SEND,
    ),
    "an old intent that nobody can be asked about": (
        a_delivery("claimed", updated_at=LONG_AGO),
        PROMISES["dedupes"],
        Step.SEND,
    ),
    "an old intent that the provider was silent about": (
        a_delivery("claimed", updated_at=LONG_AGO, lookups=3),
        PROMISES["both"],
        Step.SEND,
    ),
    "a send in doubt": (a_delivery("asking"), PROMISES["both"], Step.LOOK_UP),
    "a send in doubt, by token": (a_delivery("asking"), PROMISES["dedupes"], Step.SEND),
    "a send in doubt, with nothing": (a_delivery("asking"), PROMISES["neither"], Step.PARK),
    "the end of the window": (
        a_delivery("asking", began_at=after(-3590)),
        PROMISES["dedupes"],
        Step.PARK,
    ),
    "just before the end of the window": (
        a_delivery("asking", began_at=Instant(after(-3590) + 1)),
        PROMISES["dedupes"],
        Step.SEND,
    ),
    "no attempt left": (a_delivery("asking", attempts=3), PROMISES["dedupes"], Step.PARK),
    "a day later": (
        a_delivery("asking", began_at=after(-25 * 3600)),
        Promise(dedupes_for=24 * 3600),
        Step.PARK,
    ),
    "a day later, where one can ask": (
        a_delivery("asking", began_at=after(-25 * 3600)),
        Promise(dedupes_for=24 * 3600, lookup_lag=1),
        Step.LOOK_UP,
    ),
    "what the provider has forgotten": (
        a_delivery("asking"),
        Promise(lookup_lag=1, lookup_for=60),
        Step.PARK,
    ),
    "what the provider has forgotten, but drops": (
        a_delivery("asking"),
        Promise(lookup_lag=1, lookup_for=60, dedupes_for=3600),
        Step.SEND,
    ),
    "an id without a time": (
        a_delivery("claimed", notification_id="m-0"),
        PROMISES["both"],
        Step.LOOK_UP,
    ),
    "an id that the provider wants": (
        a_delivery("asking", notification_id="m-0"),
        Promise(lookup_lag=1, lookup_needs_id=True),
        Step.LOOK_UP,
    ),
    "no id, which the provider wants": (
        a_delivery("asking"),
        Promise(lookup_lag=1, lookup_needs_id=True),
        Step.PARK,
    ),
    "an old intent of a provider that wants an id": (
        a_delivery("claimed", updated_at=LONG_AGO),
        Promise(lookup_lag=1, lookup_needs_id=True),
        Step.SEND,
    ),
    "an id without a time, by token": (
        a_delivery("claimed", notification_id="m-0"),
        PROMISES["dedupes"],
        Step.PARK,
    ),
    "a time without a mark": (
        a_delivery("asking", notified_at=after(-50)),
        PROMISES["dedupes"],
        Step.PARK,
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_what_a_courier_does(name: str):
    delivery, promise, step = STEPS[name]

    assert next_step(delivery, terms_of(promise), NOW) is step


def test_after_a_restored_backup_the_provider_is_asked_before_a_first_send_once():
    careful = terms_of(PROMISES["both"], look_first=True)

    assert next_step(a_delivery("claimed"), careful, NOW) is Step.LOOK_UP
    assert next_step(a_delivery("claimed", lookups=1), careful, NOW) is Step.SEND


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("standing", STANDINGS)
def test_what_is_marked_as_sent_is_never_sent(standing: str, promise: str):
    marked = a_delivery(standing, notified_at=after(-50), holder="courier-1")
    terms = terms_of(PROMISES[promise])

    assert next_step(marked, terms, NOW) is not Step.SEND
    assert isinstance(decide_delivery(marked, SendBegun(), terms, NOW, 0.5), Unmoved)


def test_a_known_refusal_says_nothing_about_an_earlier_send():
    decided = decide_delivery(
        a_delivery("sending", began_at=after(-90), attempts=2),
        SendFailed(BUSY, BEGAN_AT),
        terms_of(PROMISES["dedupes"]),
        NOW,
        0.5,
    )

    assert isinstance(decided, Delivery)
    assert (decided.state, decided.began_at) == (DeliveryState.SENDING, after(-90))


KEY = {"subject": "s", "recipient": "jane@example.test", "version": 1, "provider": "mail"}


def test_the_same_key_has_the_same_token_everywhere():
    assert token_of(**KEY) == token_of(**KEY)
    assert token_of(**KEY) == "5eccd6af0e31460e857b8025327c6d0c8258e48f8ed01219317fec53ca6495dd"


@pytest.mark.parametrize(
    "change",
    [{"subject": "t"}, {"recipient": "joe@x"}, {"version": 2}, {"provider": "post"}],
    ids=str,
)
def test_another_key_has_another_token(change: dict):
    assert token_of(**{**KEY, **change}) != token_of(**KEY)


def test_no_two_keys_run_together():
    one = token_of(subject='a","b', recipient="c", version=1, provider="p")
    other = token_of(subject="a", recipient='b","c', version=1, provider="p")

    assert one != other
