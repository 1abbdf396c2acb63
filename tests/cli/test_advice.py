"""Advice that mc2 fit prints at the end."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from mcsquared.cli.fit import _start_note


def test_a_time_limit_that_the_starts_of_the_chains_use_up_is_explained():
    def note(seconds, n_chains):
        trace = pd.DataFrame({"chain": np.arange(n_chains), "seconds": seconds})
        posterior = SimpleNamespace(trace=trace)
        return _start_note(SimpleNamespace(posterior_=posterior, max_seconds=60.0))

    advice = "the starts of 8 chains: fewer chains, such as --chains 2, have more sweeps"
    assert note(1.0, 8).endswith(advice)
    assert note(5.0, 8) == note(1.0, 1) == ""
