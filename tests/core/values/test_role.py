"""Each role may do all that the ones before it may."""

import pytest

from holdfast.core.values.role import Role


@pytest.mark.parametrize(
    ("role", "may"),
    [
        (Role.READER, {Role.READER}),
        (Role.SUBMITTER, {Role.READER, Role.SUBMITTER}),
        (Role.OPERATOR, {Role.READER, Role.SUBMITTER, Role.OPERATOR}),
    ],
)
def test_a_role_may_do_what_lesser_ones_may(role, may):
    assert {needed for needed in Role if role.may(needed)} == may
