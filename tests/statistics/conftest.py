"""Short chains move topics in every fifth sweep, long ones in every sweep."""

import pytest


@pytest.fixture(autouse=True)
def moves_of_short_chains(request):
    """Tests of these moves have them in every sweep all the same."""
    if request.node.get_closest_marker("calibrate") is None:
        request.getfixturevalue("moves_of_larger_corpora")
