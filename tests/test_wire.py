"""Arrays sent over the network are small, and unpacked unchanged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mcsquared.distributed.wire import (
    PackedCounts,
    add_packed,
    n_bytes_of,
    pack,
    pack_array,
    unpack,
    unpack_array,
)

LIMIT = 2**31 - 1
COUNTS = st.one_of(st.just(0), st.integers(0, 3), st.integers(250, 260), st.integers(0, LIMIT))


@given(arrays(np.int32, st.tuples(st.integers(0, 5), st.integers(0, 9)), elements=COUNTS))
def test_packed_counts_are_unpacked_unchanged(counts):
    found = unpack_array(pack_array(counts))
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, counts)


def test_sums_of_shards_are_added_as_if_they_had_not_been_packed():
    counts = np.zeros((3, 40, 50), np.int32)
    counts[0, 3, 7], counts[1, 3, 7], counts[2, 39, 49] = LIMIT, 5, 1
    chunks = [np.full((2, 1), float(part)) for part in range(3)]
    parts = [
        pack({"words_in_topic": c, "topic_statistics": s, "cell_counts": None})
        for c, s in zip(counts, chunks, strict=True)
    ]
    assert isinstance(parts[0]["words_in_topic"], PackedCounts)
    found = unpack(add_packed([add_packed(parts[:1]), add_packed(parts[1:])]))
    np.testing.assert_array_equal(found["words_in_topic"], counts.sum(axis=0, dtype=np.int64))
    np.testing.assert_array_equal(found["topic_statistics"], np.concatenate(chunks))
    assert "cell_counts" not in found


@pytest.mark.parametrize("value", [np.full(5000, -1), np.ones(5000), np.arange(10), (1, 2)])
def test_other_values_are_sent_as_they_are(value):
    assert pack({"value": value})["value"] is value


def test_sparse_counts_are_a_tenth_of_the_size_or_less():
    rng = np.random.default_rng(0)
    counts = (rng.poisson(0.1, (1000, 112)) * rng.poisson(3.0, (1000, 112))).astype(np.int32)
    assert n_bytes_of(pack_array(counts)) < 0.1 * counts.nbytes


def test_received_arrays_can_be_written_to():
    value = np.arange(10)
    value.flags.writeable = False
    assert unpack({"value": value})["value"].flags.writeable
