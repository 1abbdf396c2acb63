"""Arrays as somebody who forges a file would change them."""

import numpy as np
from hypothesis import strategies as st


def forged_array(array, values):
    """Return a strategy: another last value, another type, or another shape."""

    def with_value(value):
        changed = array.copy()
        changed.reshape(-1)[-1:] = value
        return changed

    def with_type(dtype):
        with np.errstate(invalid="ignore"):
            return array.astype(dtype)

    return st.one_of(
        st.sampled_from(values).map(with_value),
        st.sampled_from(["int8", "int64", "float32", "bool"]).map(with_type),
        st.sampled_from([array[:-1], array[None], np.zeros(0, array.dtype), array.T]),
    )
