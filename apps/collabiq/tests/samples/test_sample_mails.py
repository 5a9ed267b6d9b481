from collabiq.mail import clean, parse_mail
from collabiq.samples import mailbox, write_mailbox


def wrong_in(sample) -> list[str]:
    """What reading and cleaning a sample makes of it that it should not."""
    expected = sample.expected
    mail = parse_mail(sample.raw)
    cleaned = clean(mail.text, subject=mail.subject)
    found = [f"does not say {each!r}" for each in expected.says if each not in cleaned.text]
    found += [f"still says {each!r}" for each in expected.lacks if each in cleaned.text]
    facts = {
        "subject": (mail.subject, expected.subject),
        "language": (cleaned.language, expected.language),
        "empty": (cleaned.empty, expected.empty),
        "removed": ({each.kind for each in cleaned.removed}, set(expected.removed) or None),
        "attachments": (
            [each.name for each in mail.attachments],
            list(expected.attachments),
        ),
    }
    found += [
        f"{name} is {was!r}"
        for name, (was, to_be) in facts.items()
        if to_be is not None and was != to_be
    ]
    if mail.automatic != expected.automatic:
        found.append(f"automatic is {mail.automatic!r}")
    return found


def test_every_sample_mail_is_read_and_cleaned_as_it_says():
    wrong = {sample.name: wrong_in(sample) for sample in mailbox()}

    assert {name: found for name, found in wrong.items() if found} == {}


def test_there_are_about_forty_of_them_under_names_of_their_own():
    names = [sample.name for sample in mailbox()]

    assert len(names) >= 40
    assert len(set(names)) == len(names)


def test_they_are_the_same_bytes_every_time():
    assert [sample.raw for sample in mailbox()] == [sample.raw for sample in mailbox()]


def test_they_are_written_as_files(tmp_path):
    files = write_mailbox(tmp_path / "mailbox")

    assert {file.suffix for file in files} == {".eml"}
    assert [file.read_bytes() for file in files] == [sample.raw for sample in mailbox()]


def test_only_the_mails_that_are_meant_to_be_copies_share_an_id():
    by_id: dict[str, list[str]] = {}
    for each in mailbox():
        by_id.setdefault(parse_mail(each.raw).message_id or each.name, []).append(each.name)

    shared = [names for names in by_id.values() if len(names) > 1]

    assert shared == [["odd-duplicate-by-group", "odd-duplicate-direct"]]
