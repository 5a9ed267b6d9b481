"""A recipient is shown masked, and can still be found."""

import pytest

from holdfast.redaction import mask_recipient

KEY = b"a key of the installation"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("jane.doe@example.co.uk", "j***@example.co.uk"),
        ("  Jane.Doe@Example.co.uk ", "j***@example.co.uk"),
        ("Jane Doe <jane@example.test>", "j***@example.test"),
        ("j@x.test", "j***@x.test"),
        ('"odd@local"@x.test', '"***@x.test'),
        ("no address", "[redacted:email]"),
        ("@x.test", "[redacted:email]"),
        ("jane@", "[redacted:email]"),
        ("", "[redacted:email]"),
        ("+49 30 901820", "[redacted:email]"),
    ],
)
def test_only_the_first_letter_and_the_domain_are_shown(address, shown):
    assert mask_recipient(address, key=KEY).shown == shown


def test_the_digest_finds_a_recipient_however_the_address_is_written():
    digest = mask_recipient("jane.doe@example.co.uk", key=KEY).digest

    assert mask_recipient("Jane Doe <Jane.Doe@EXAMPLE.co.uk>", key=KEY).digest == digest
    assert mask_recipient("john.doe@example.co.uk", key=KEY).digest != digest
    assert mask_recipient("jane.doe@example.co.uk", key=b"another key").digest != digest
    assert len(digest) == 64
