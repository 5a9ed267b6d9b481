"""Mails in English, and in both languages."""

from __future__ import annotations

from collabiq.samples.sample import (
    Expected,
    Sample,
    message,
    part,
    parts,
    text_mail,
    text_part,
)

_DISCLAIMER = (
    "This email and any attachments are confidential and intended solely for the addressee. "
    "If you are not the intended recipient, please delete it."
)
_KICKOFF = """Hi all,

Brightfold and Orchard Retail will start a pilot for shelf labels on November 12, 2025.
Two stores take part, and we look at the results together in January.
Contact: Emma Clarke

"""
_SIGNATURE = """Best regards,
Emma Clarke

Partnerships Manager
Brightfold Ltd
Tel: +44 20 5550 0199
emma.clarke@brightfold.example"""

_HTML = """<html><head><title>Unseen title</title><style>.x{color:red}</style></head><body>
<script>alert("unseen script")</script>
<p>Hello team,</p>
<div style="display:none">unseen preheader</div>
<p>Quietmeter &amp; Harbor Logistics agreed on a joint trial.</p>
<table><tr><th>Who</th><th>When</th></tr><tr><td>David Okafor</td><td>2025-11-18</td></tr></table>
<span hidden>unseen span</span><p>Thanks,<br>David</p></body></html>"""

SAMPLES = (
    Sample(
        "english-plain",
        text_mail(_KICKOFF + _SIGNATURE, subject="Brightfold x Orchard Retail pilot"),
        Expected(
            subject="Brightfold x Orchard Retail pilot",
            says=("shelf labels",),
            lacks=("+44 20", "Partnerships Manager"),
            removed=("signature",),
            language="en",
            fields={
                "startup_name": "Brightfold",
                "partner_org": "Orchard Retail",
                "person_in_charge": "Emma Clarke",
                "date": "2025-11-12",
                "collaboration_intensity": "협력",
            },
        ),
    ),
    Sample(
        "english-disclaimer",
        text_mail(
            f"{_KICKOFF}Thanks,\nEmma\n\n{_DISCLAIMER}\n", subject="Brightfold x Orchard Retail"
        ),
        Expected(lacks=("confidential",), removed=("disclaimer",), language="en"),
    ),
    Sample(
        "english-delimiter",
        text_mail(f"{_KICKOFF}-- \nEmma Clarke\nBrightfold, 1 Example Street\n", subject="Pilot"),
        Expected(lacks=("Example Street",), removed=("signature",)),
    ),
    Sample(
        "english-relative-date",
        text_mail(
            "Lumenkit met Harbor Logistics yesterday to explore a partnership.\nContact: David Okafor\n",
            subject="Lumenkit / Harbor Logistics intro",
        ),
        Expected(
            fields={
                "startup_name": "Lumenkit",
                "partner_org": "Harbor Logistics",
                "date": "2025-11-02",
                "person_in_charge": "David Okafor",
                "collaboration_intensity": "이해",
            },
        ),
    ),
    Sample(
        "english-next-monday",
        text_mail(
            "Quietmeter and Orchard Retail will meet next Monday about an investment round.\n",
            subject="Quietmeter x Orchard Retail",
        ),
        Expected(fields={"date": "2025-11-10", "collaboration_intensity": "투자"}),
    ),
    Sample(
        "english-no-date",
        text_mail(
            "Lumenkit and Orchard Retail want to talk about lighting.\n",
            subject="Lumenkit x Orchard Retail",
            date=None,
        ),
        Expected(
            fields={"startup_name": "Lumenkit", "partner_org": "Orchard Retail", "date": None}
        ),
    ),
    Sample(
        "english-reply",
        text_mail(
            "Works for us, let us do the trial on 2025-11-25.\n\n"
            "On Sun, Nov 2, 2025 at 10:11 AM Emma Clarke <emma.clarke@brightfold.example>\nwrote:\n\n"
            "> Shall we meet?\n> It is about the old plan.\n\nOne more answer below the quote.\n",
            subject="Re: Brightfold x Orchard Retail",
        ),
        Expected(
            says=("Works for us", "One more answer"),
            lacks=("old plan", "wrote:"),
            removed=("quote",),
        ),
    ),
    Sample(
        "english-mobile",
        text_mail(
            "Lumenkit confirms the 2025-11-14 demo.\n\nSent from my iPhone\n", subject="Re: demo"
        ),
        Expected(says=("confirms",), lacks=("iPhone",), removed=("signature",)),
    ),
    Sample(
        "english-html-only",
        text_mail(_HTML, subject="Quietmeter x Harbor Logistics", subtype="html"),
        Expected(
            says=("Quietmeter & Harbor Logistics agreed", "David Okafor | 2025-11-18"),
            lacks=("unseen", "alert"),
            fields={
                "startup_name": "Quietmeter",
                "partner_org": "Harbor Logistics",
                "date": "2025-11-18",
            },
        ),
    ),
    Sample(
        "english-stub-and-html",
        message(
            subject="Trial",
            content_type='multipart/alternative; boundary="alt"',
            body=parts(
                "alt", text_part("Please view this message as HTML."), text_part(_HTML, "html")
            ),
        ),
        Expected(says=("agreed on a joint trial",), lacks=("view this message",)),
    ),
    Sample(
        "english-nested-multipart",
        message(
            subject="Nested",
            content_type='multipart/mixed; boundary="outer"',
            body=parts(
                "outer",
                part(
                    parts(
                        "inner",
                        part(
                            parts("alt", text_part(_KICKOFF), text_part(_HTML, "html")),
                            'multipart/alternative; boundary="alt"',
                        ),
                        part(
                            b"\x89PNG....",
                            "image/png",
                            encoding="base64",
                            extra=[
                                "Content-ID: <logo>",
                                'Content-Disposition: inline; filename="logo.png"',
                            ],
                        ),
                    ),
                    'multipart/related; boundary="inner"',
                ),
                part(
                    b"%PDF-1.7 not read",
                    "application/pdf",
                    encoding="base64",
                    extra=[
                        "Content-Disposition: attachment;",
                        " filename*0*=utf-8''%ED%98%91%EC%97%85;",
                        " filename*1*=%20%EC%A0%9C%EC%95%88.pdf",
                    ],
                ),
            ),
        ),
        Expected(says=("shelf labels",), attachments=("logo.png", "협업 제안.pdf")),
    ),
    Sample(
        "english-forward-as-attachment",
        message(
            subject="Fwd: Lumenkit",
            content_type='multipart/mixed; boundary="fwd"',
            body=parts(
                "fwd",
                text_part("FYI, see below.\n"),
                part(
                    text_mail(
                        "Lumenkit and Harbor Logistics sign the contract on 2025-11-21.\n",
                        subject="Lumenkit x Harbor Logistics contract",
                    ),
                    "message/rfc822",
                ),
            ),
        ),
        Expected(
            says=("sign the contract",), fields={"startup_name": "Lumenkit", "date": "2025-11-21"}
        ),
    ),
    Sample(
        "english-inline-forward",
        text_mail(
            "For the record.\n\n---------- Forwarded message ---------\nFrom: Emma Clarke <e@b.example>\n"
            "Date: Sat, Nov 1, 2025\nSubject: Quietmeter\nTo: David\n\n"
            "Quietmeter and Harbor Logistics begin a trial on 2025-11-19.\n",
            subject="Fwd: Quietmeter",
        ),
        Expected(
            says=("For the record", "begin a trial"),
            lacks=("From: Emma",),
            removed=("forward_header",),
        ),
    ),
    Sample(
        "mixed-languages",
        text_mail(
            "Brightfold 팀과 서하백화점 팀이 kick-off meeting을 11월 14일에 진행합니다.\n"
            "The agenda covers display labels, pricing data and the timeline.\n담당자: 최예린\n",
            subject="Brightfold x 서하백화점 kick-off",
        ),
        Expected(
            language="mixed",
            fields={
                "startup_name": "Brightfold",
                "partner_org": "서하백화점",
                "date": "2025-11-14",
            },
        ),
    ),
    Sample(
        "english-typo",
        text_mail(
            "Brigthfold and Orchard Retial agreed on a pilot on 2025-11-26.\n",
            subject="Brigthfold x Orchard Retial",
        ),
        Expected(fields={"startup_name": "Brigthfold", "partner_org": "Orchard Retial"}),
    ),
    Sample(
        "english-unknown-company",
        text_mail(
            "Mossgarden and Orchard Retail start a trial on 2025-11-27.\n",
            subject="Mossgarden x Orchard Retail",
        ),
        Expected(fields={"startup_name": "Mossgarden"}),
    ),
)
