"""Mails for a measurement: each about another pilot."""

from collabiq.samples.sample import text_mail

TEXT = """Hello,

Brightfold and Harbor Logistics agreed on {what} of shelf sensors in twelve depots. It begins on
2025-11-17 and takes six weeks; both send a report at its end.

Contact: Emma Clarke
"""


HEAD = """From: Emma Clarke <emma.clarke@partner.example>
To: collab@example.com
Subject: Re: Brightfold x Harbor Logistics
Date: Mon, 03 Nov 2025 09:30:00 +0900
Content-Type: text/plain; charset=utf-8

Brightfold and Harbor Logistics agreed on a pilot.
"""


def mail(number: int, *, what: str = "a pilot") -> bytes:
    return text_mail(
        TEXT.format(what=f"{what} ({number})"),
        subject=f"Brightfold x Harbor Logistics, {what} {number}",
        sender="Emma Clarke <emma.clarke@partner.example>",
        message_id=f"<bench-{number}@mail.example>",
    )


def thread(size: int) -> bytes:
    """A mail of that size: some sentences, and a thread that is quoted below them."""
    head = HEAD.replace("\n", "\r\n")
    said = [head]
    left = size - len(head)
    number = 0
    while left > 0:
        number += 1
        depth = number % 5
        if number % 40 == 0:
            text = "On Mon, Nov 3, 2025 at 9:30 AM Emma Clarke <emma@partner.example> wrote:"
        else:
            text = f"{'> ' * depth}소리담과 서하백화점이 11월에 만나서 pilot {number} 을 합니다."
        said.append(text)
        left -= len(text.encode()) + 2
    return "\r\n".join(said).encode()
