import time

import pytest

from collabiq.extract import ExtractTask, extract_by_rules, occurs
from collabiq.mail import clean, parse_mail
from collabiq.samples import mailbox


def task_of(sample) -> ExtractTask:
    mail = parse_mail(sample.raw)
    return ExtractTask(
        text=clean(mail.text, subject=mail.subject).text,
        subject=mail.subject,
        sender=mail.sender.name,
        sent_at=mail.date,
    )


def test_the_rules_find_in_every_sample_what_it_says():
    wrong = {}
    for sample in mailbox():
        found = extract_by_rules(task_of(sample)).to_document()
        differs = {
            name: found[name]
            for name, value in sample.expected.fields.items()
            if found[name] != value
        }
        if differs:
            wrong[sample.name] = differs

    assert wrong == {}


def test_rules_are_never_surer_than_a_person_has_to_be():
    for sample in mailbox():
        found = extract_by_rules(task_of(sample))

        assert found.extractor == "rules"
        assert max(found.to_document()["confidence"].values()) <= 0.8


def test_details_are_word_for_word():
    for sample in mailbox():
        task = task_of(sample)

        assert occurs(extract_by_rules(task).details, task.text) == 1.0, sample.name


def test_details_are_cut_between_words_at_2000_characters():
    text = "소리담과 서하백화점 " + "가나다라 " * 1_000

    found = extract_by_rules(ExtractTask(text=text))

    assert len(found.details) <= 2_000
    assert found.details.endswith("가나다라 […]")


def test_an_empty_mail_says_nothing():
    found = extract_by_rules(ExtractTask(text=""))

    assert (found.startup_name, found.date, found.details) == (None, None, "")
    assert found.confidence.lowest == 0


def test_who_wrote_a_mail_is_a_guess_for_who_is_in_charge():
    found = extract_by_rules(ExtractTask(text="We start.", sender="Emma Clarke"))

    assert (found.person_in_charge, found.confidence.person) == ("Emma Clarke", 0.4)


def test_handing_over_is_no_acquisition():
    found = extract_by_rules(ExtractTask(text="업무 인수인계 회의를 합니다."))

    assert found.collaboration_intensity == "이해"


@pytest.mark.parametrize(
    ("subject", "names"),
    [
        ("Zephyrworks Inc. x Orchard Retail", ("Zephyrworks Inc", "Orchard Retail")),
        ("Pilot: Zephyrworks Co., Ltd. x Orchard GmbH", ("Zephyrworks Co., Ltd", "Orchard")),
        ("Orchard x 주식회사 소리담", ("Orchard", "주식회사 소리담")),
        ("Inc. x Ltd.", ("Inc", "Ltd")),
    ],
)
@pytest.mark.parametrize("text", ["We start soon.", "Orchard Retail, Inc. starts."])
def test_a_legal_form_alone_is_no_name(subject, names, text):
    found = extract_by_rules(ExtractTask(text=text, subject=subject))

    assert found.startup_name == names[0]
    assert found.partner_org in {names[1], names[1].split()[0]}


def test_rules_take_time_in_proportion():
    for piece in ("A and ", "가와 ", "담당 ", "x - ", "11월 ", "Aa ", "다음 "):
        taken = []
        for count in (1_000, 4_000):
            task = ExtractTask(text=piece * count, subject=piece * count)
            begun = time.process_time()
            extract_by_rules(task)
            taken.append(time.process_time() - begun)

        assert taken[1] < 9 * max(taken[0], 0.005), piece
