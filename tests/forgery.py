"""Arrays changed as in a forged file."""

import numpy as np
from hypothesis import strategies as st


def forged_array(array, values):
    """Return a strategy: another value somewhere, another type, or another shape."""

    def with_value(position, value):
        changed = array.copy()
        changed.reshape(-1)[position : position + 1] = value
        return changed

    positions = st.integers(0, max(array.size - 1, 0))

    def with_type(dtype):
        with np.errstate(invalid="ignore"):
            return array.astype(dtype)

    return st.one_of(
        st.builds(with_value, positions, st.sampled_from(values)),
        st.sampled_from(["int8", "int64", "float32", "bool"]).map(with_type),
        st.sampled_from([array[:-1], array[None], np.zeros(0, array.dtype), array.T]),
    )
