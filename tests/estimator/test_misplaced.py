"""Misplaced arguments are not ignored silently."""

import pandas as pd
import pytest

from mcsquared import MC2
from mcsquared.errors import InputError


@pytest.mark.parametrize("method", ["fit", "fit_predict", "fit_transform"])
def test_contexts_in_the_place_of_y_are_refused(method):
    model = MC2(n_sweeps=4, burn_in=2, thin=1, random_state=0)
    with pytest.raises(InputError, match="contexts="):
        getattr(model, method)(["aa bb", "cc dd"], {"year": [1990, 2000]})
    assert not hasattr(model, "posterior_")


def test_a_frame_in_the_place_of_y_is_ignored_with_a_warning():
    model = MC2(n_sweeps=4, burn_in=2, thin=1, random_state=0)
    with pytest.warns(UserWarning, match=r"y is ignored; pass contexts with contexts="):
        model.fit(["aa bb", "cc dd"], pd.DataFrame({"year": [1990, 2000]}))
    assert not model.posterior_.contexts
