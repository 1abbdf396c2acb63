"""A few cases of each target; `make fuzz` runs thousands."""

import pytest

from tests.fuzz import targets


@pytest.mark.parametrize("name", targets.TARGETS)
def test_changed_files_are_refused_or_used(name, tmp_path):
    failures = []
    assert targets.run(name, tmp_path, 0, 30, failures.append) == 0, "\n".join(failures)
