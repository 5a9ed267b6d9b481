import pytest

from holdfast.core.job.idempotency import Verdict, judge

STORED = {1: "body-a", 3: "body-b"}


@pytest.mark.parametrize(
    ("version", "fingerprint", "key_alone", "verdict"),
    [
        (1, "body-a", False, Verdict.SAME),
        (3, "body-b", False, Verdict.SAME),
        (1, "body-b", False, Verdict.OTHER_BODY),
        (3, None, False, Verdict.OTHER_BODY),
        (1, "anything", True, Verdict.SAME),
        (2, "body-a", False, Verdict.TOO_LOW),
        (2, "body-a", True, Verdict.TOO_LOW),
        (4, "body-b", False, Verdict.NEEDS_RERUN),
        (4, "new", True, Verdict.NEEDS_RERUN),
    ],
)
def test_a_known_key_means(version, fingerprint, key_alone, verdict):
    found = judge(
        version=version, fingerprint=fingerprint, stored=STORED, key_alone_decides=key_alone
    )

    assert found is verdict
