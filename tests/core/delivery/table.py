"""What follows from every event for every delivery, written out.

A line reads: a delivery that stands like this, met by that event, leads to this. `-` means empty,
`unmoved` means that nothing is written; instants are seconds before or after the event. The send
of a delivery that has one began a minute ago and was its first of three; the lease is over; the
provider drops what it has seen for an hour and finds everything after half a minute.
"""

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
intent   Postponed    | unmoved
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
claimed  Postponed    | unmoved
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
sending  Lost         | sending  +0     -     1        0       -60    -    -        NETWORK_TIMEOUT
sending  Bug          | sending  +0     -     1        0       -60    -    -        BUG
sending  HandedBack   | sending  +0     -     1        0       -60    -    -        -
sending  Unsent       | intent   +5     -     0        0       -      -    -        -
sending  Postponed    | intent   +57750 -     0        0       -      -    -        QUOTA_EXCEEDED
sending  Found        | sent     +0     -     1        0       -60    m-1  +0       -
sending  Missing      | intent   +0     -     1        0       -      -    -        -
sending  Silence      | sending  +4     -     1        1       -60    -    -        -
sending  Parked       | unmoved
sending  CourierLost  | sending  +0     -     1        0       -60    -    -        WORKER_LOST
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
in-doubt Postponed    | unmoved
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
asking   Lost         | sending  +0     -     1        0       -60    -    -        NETWORK_TIMEOUT
asking   Bug          | sending  +0     -     1        0       -60    -    -        BUG
asking   HandedBack   | sending  +0     -     1        0       -60    -    -        NETWORK_TIMEOUT
asking   Unsent       | intent   +5     -     0        0       -      -    -        NETWORK_TIMEOUT
asking   Postponed    | intent   +57750 -     0        0       -      -    -        QUOTA_EXCEEDED
asking   Found        | sent     +0     -     1        0       -60    m-1  +0       -
asking   Missing      | intent   +0     -     1        0       -      -    -        NETWORK_TIMEOUT
asking   Silence      | sending  +4     -     1        1       -60    -    -        NETWORK_TIMEOUT
asking   Parked       | unmoved
asking   CourierLost  | sending  +0     -     1        0       -60    -    -        NETWORK_TIMEOUT
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
sent     Postponed    | unmoved
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
failed   Postponed    | unmoved
failed   Found        | unmoved
failed   Missing      | unmoved
failed   Silence      | unmoved
failed   Parked       | unmoved
failed   CourierLost  | unmoved
failed   AskedAgain   | intent   +0     -     0        0       -      -    -        -
failed   AskedByOther | intent   +0     -     0        0       -      -    -        -
failed   SaysSent     | sent     +0     -     1        0       -      -    +0       -
failed   SaysResend   | intent   +0     -     0        0       -      -    -        -
failed   SaysFail     | failed   +0     -     1        0       -      -    -        WITHDRAWN
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
unknown  Postponed    | unmoved
unknown  Found        | unmoved
unknown  Missing      | unmoved
unknown  Silence      | unmoved
unknown  Parked       | unmoved
unknown  CourierLost  | unmoved
unknown  AskedAgain   | sending  +0     -     0        0       -60    -    -        NETWORK_TIMEOUT
unknown  AskedByOther | sending  +0     -     0        0       -60    -    -        NETWORK_TIMEOUT
unknown  SaysSent     | sent     +0     -     1        0       -60    -    +0       -
unknown  SaysResend   | intent   +0     -     0        0       -      -    -        -
unknown  SaysFail     | failed   +0     -     1        0       -      -    -        WITHDRAWN
unknown  RecFound     | sent     +0     -     1        0       -60    m-1  +0       -
unknown  RecMissing   | intent   +0     -     1        0       -      -    -        NETWORK_TIMEOUT
unknown  RecSilence   | unknown  -1     -     1        0       -60    -    -        NETWORK_TIMEOUT
"""
