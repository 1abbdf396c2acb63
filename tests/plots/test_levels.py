"""Heat map of the clusters in types of units."""

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared import plots
from mcsquared.errors import InputError
from tests.samplers.leveled_cases import two_levels_above


@pytest.fixture(scope="module")
def posterior():
    settings = {"n_sweeps": 8, "burn_in": 4, "thin": 1, "random_state": 0, "progress": False}
    return mc2.MC2(**settings).fit(two_levels_above()).posterior_


def test_cells_are_the_shares_of_clusters_in_types(posterior):
    ax = plots.type_clusters(posterior, "city")
    np.testing.assert_array_equal(ax.images[0].get_array(), posterior.cluster_given_type("city"))
    assert ax.get_xlabel() == "cluster"
    sizes = [label.get_text().rpartition("(")[2] for label in ax.get_yticklabels()]
    assert sizes == [f"{n})" for n in np.bincount(posterior.level("city").labels)]


def test_above_other_units_columns_are_their_types(posterior):
    ax = plots.type_clusters(posterior, "country", types=[0])
    expected = posterior.cluster_given_type("country").loc[[0]]
    np.testing.assert_array_equal(ax.images[0].get_array(), expected)
    assert ax.get_xlabel() == "type below"


def test_a_level_that_does_not_exist_is_refused(posterior):
    with pytest.raises(InputError, match="a level of this model"):
        plots.type_clusters(posterior, "street")
