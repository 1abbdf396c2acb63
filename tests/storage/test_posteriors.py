"""A posterior is restored unchanged, and an inconsistent file gives the documented error."""

import copy
import json
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mcsquared.errors import InputError, ModelFileError
from mcsquared.storage import pack_posterior, read_file, unpack_posterior, write_file
from mcsquared.storage.files import Reader, pack_csr, pack_strings
from tests.posterior.models import make_posterior


@pytest.fixture(
    scope="module",
    params=[(False, np.inf), (True, np.inf), (False, 3.0), (True, 3.0)],
    ids=["words", "vectors", "words, groups vary", "vectors, groups vary"],
)
def posterior(request):
    vectors, lam = request.param
    return make_posterior(vectors=vectors, n_groups=18, n_draws=6, lam=lam)[0]


@pytest.fixture(scope="module")
def packed(posterior):
    return pack_posterior(posterior)


@pytest.fixture(scope="module")
def words():
    return pack_posterior(make_posterior(n_groups=18, n_draws=6)[0])


def test_a_posterior_comes_back_from_a_file_as_it_was(posterior, tmp_path):
    path = tmp_path / "a.mc2"
    write_file(path, "posterior", *pack_posterior(posterior))
    back = unpack_posterior(*read_file(path, "posterior"))
    assert back.priors == posterior.priors
    assert back.seed == posterior.seed
    assert back.notes == posterior.notes
    assert back.source == posterior.source
    for name in ("labels", "cluster_of_group", "tokens_per_group", "group_names", "components"):
        np.testing.assert_array_equal(getattr(back, name), getattr(posterior, name))
    pd.testing.assert_frame_equal(back.trace, posterior.trace)
    pd.testing.assert_frame_equal(back.topics(), posterior.topics())
    pd.testing.assert_frame_equal(back.clusters(), posterior.clusters())
    for name in posterior.contexts:
        assert back.contexts[name].kind == posterior.contexts[name].kind
        pd.testing.assert_frame_equal(
            back.context_given_topic(name), posterior.context_given_topic(name)
        )
    for one, other in zip(back.parameters, posterior.parameters, strict=True):
        assert (one.index, one.alpha, one.v, one.eta, one.lam) == (
            *(other.index, other.alpha, other.v),
            *(other.eta, other.lam),
        )
        np.testing.assert_array_equal(
            one.drawn_from_cluster.toarray(), other.drawn_from_cluster.toarray()
        )


def test_a_file_without_tables_is_one_of_an_infinite_lam(words):
    tensors, meta = words
    assert not any("tables" in name for name in tensors)
    assert all(draw.lam == np.inf for draw in unpack_posterior(tensors, meta).parameters)
    finite = changed(tensors["parameters.0.scalars"], 5, 2.0)
    with pytest.raises(
        ModelFileError, match=r"the array 'parameters.0.tables_in_cluster.* is missing"
    ):
        unpack_posterior(tensors | {"parameters.0.scalars": finite}, meta)


def test_tables_that_cannot_be_are_refused():
    """More than tokens, none where there are tokens, some where there are none, or at lam=inf."""
    posterior = make_posterior(n_groups=18, n_draws=6, lam=3.0)[0]
    tensors, meta = pack_posterior(posterior)
    name, topics = "parameters.0.tables_in_cluster", posterior.parameters[0].topics_in_cluster
    unpack_posterior(tensors | {f"{name}.data": topics.data}, meta)  # as many as tokens: possible
    refused(tensors | {f"{name}.data": topics.data + 1}, meta)
    refused(tensors | {f"{name}.data": np.zeros_like(topics.data)}, meta)
    full = sparse.csr_matrix(topics.toarray() + 1)
    refused(tensors | pack_csr(name, full), meta)
    fewer = topics.toarray()
    fewer[np.nonzero(fewer)[0][0], np.nonzero(fewer)[1][0]] = 0
    refused(tensors | pack_csr(name, sparse.csr_matrix(fewer)), meta)
    infinite = changed(tensors["parameters.0.scalars"], 5, np.inf)
    refused(tensors | {"parameters.0.scalars": infinite}, meta)


def test_packing_twice_gives_the_same_bytes(posterior, tmp_path):
    paths = [tmp_path / name for name in ("a", "b")]
    for path in paths:
        write_file(path, "posterior", *pack_posterior(posterior))
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_an_empty_trace_comes_back_empty():
    posterior = make_posterior(n_groups=9, n_draws=3)[0]
    posterior.trace = pd.DataFrame()
    assert unpack_posterior(*pack_posterior(posterior)).trace.empty


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(st.characters(), max_size=8), max_size=6))
def test_any_strings_come_back(strings):
    back = Reader(pack_strings("a", strings)).strings("a")
    assert list(back) == strings


def test_strings_that_are_not_utf8_or_badly_cut_are_refused():
    good = pack_strings("a", ["ab", "ü"])
    for change in (
        {"a.bytes": np.array([97, 98, 0xC3, 0x28], np.uint8)},
        {"a.ends": np.array([2, 3], np.int64)},
        {"a.ends": np.array([3, 2], np.int64)},
        {"a.ends": np.array([-1, 4], np.int64)},
        {"a.ends": np.array([3, 4], np.int64)},
        {"a.ends": np.array([2.0, 4.0])},
    ):
        with pytest.raises(ModelFileError):
            Reader(good | change).strings("a")


def test_a_posterior_without_parameters_is_not_written():
    posterior = make_posterior(n_groups=9, n_draws=3)[0]
    posterior.parameters = []
    with pytest.raises(InputError, match="requires a draw with parameters, got none"):
        pack_posterior(posterior)


# Invalid contents of a file with a valid checksum -------------------------------------------------


def refused(tensors, meta):
    with pytest.raises(ModelFileError) as caught:
        unpack_posterior(tensors, meta)
    assert "\n" not in str(caught.value)


def test_every_missing_array_is_named(packed):
    tensors, meta = packed
    optional = ("word_frequency", "document_frequency", "codocument.words", "vocabulary")
    optional += ("cluster_content.words", "cluster_content.alternatives")
    for name in tensors:
        if not name.startswith(optional):
            refused({key: value for key, value in tensors.items() if key != name}, meta)


def test_every_missing_or_misshapen_piece_of_json_is_refused(packed):
    tensors, meta = packed
    for name in meta:
        refused(tensors, {key: value for key, value in meta.items() if key != name})
        for nonsense in (None, 7.5, "x", [], {}, [None], {"a": 1}, -1, True, 10**30, [[]]):
            changed = meta | {name: nonsense}
            if changed == meta or (name, nonsense) in (("notes", []), ("source", {})):
                continue
            refused(tensors, changed)


def test_arrays_of_another_type_or_shape_are_refused(packed):
    tensors, meta = packed
    for name, value in tensors.items():
        refused(tensors | {name: value.astype(np.float32)}, meta)
        refused(tensors | {name: value[None]}, meta)
        if value.shape[0] > 1 and not name.endswith((".bytes", ".data", ".indices")):
            refused(tensors | {name: value[1:]}, meta)
        refused(tensors | {name: np.concatenate([value, value[:1]])}, meta)


def changed(array, index, value):
    array = array.copy()
    array[index] = value
    return array


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [
        ("cluster_of_group", (0, 0), -1),
        ("cluster_of_group", (0, 0), 10**6),
        ("cluster_of_group", (0, slice(None)), 17),
        ("tokens_per_group", 0, -1),
        ("tokens_per_group", 0, 2**62),
        ("chain_of_draw", 0, -1),
        ("labels", 0, 18),
        ("labels", slice(None), 1),
        ("word_frequency", 0, -5),
        ("document_frequency", 0, 19),
        ("codocument.words", (0, 0), 12),
        ("codocument.counts", (0, 0, 1), 19),
        ("codocument.counts", (0, 0, 0), 0),
        ("context.2.values", 1, 3),
        ("context.2.values", 1, -2),
        ("context.3.values.indptr", 1, 10**9),
        ("context.3.values.indptr", 1, -3),
        ("context.3.values.indptr", 0, 1),
        ("context.3.values.indices", 0, 4),
        ("context.3.values.indices", 0, -1),
        ("context.3.values.data", 0, 0),
        ("context.3.values.data", 0, -1),
        ("context.4.values", 0, 0.5),
        ("context.6.values", 0, -1.0),
        ("context.0.values", 1, np.inf),
        ("context.5.values", (1, 0), -np.inf),
        ("parameters.0.topic_weights", 0, np.nan),
        ("parameters.0.topic_weights", 0, -0.1),
        ("parameters.0.topic_weights", 0, 0.9),
        ("parameters.0.topics_in_cluster.indices", 0, 4),
        ("parameters.0.topics_in_cluster.indptr", 1, 99),
        ("parameters.0.topics_in_cluster.data", 0, -4),
        ("parameters.0.scalars", 0, 6.0),
        ("parameters.0.scalars", 0, 0.5),
        ("parameters.0.scalars", 1, 0.5),
        ("parameters.0.scalars", 2, 0.0),
        ("parameters.0.scalars", 2, np.inf),
        ("parameters.0.scalars", 3, np.nan),
        ("parameters.0.scalars", 4, -1.0),
        ("parameters.0.scalars", 5, 0.0),
        ("parameters.0.scalars", 5, np.nan),
        ("trace", (0, 0), 0.5),
        ("trace", (0, 0), np.nan),
        ("trace", (1, 0), np.inf),
    ],
)
def test_values_out_of_range_are_refused(words, name, index, value):
    tensors, meta = words
    refused(tensors | {name: changed(tensors[name], index, value)}, meta)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1e300, 1e300])
def test_impossible_statistics_of_vectors_are_refused(value):
    tensors, meta = pack_posterior(make_posterior(vectors=True, n_groups=18, n_draws=6)[0])
    name = "parameters.0.content"
    refused(tensors | {name: changed(tensors[name], (0, 0), value)}, meta)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("content", "size"), 10**15),
        (("content", "size"), 11),
        (("content", "size"), None),
        (("content", "concentration"), float("nan")),
        (("content", "concentration"), -1),
        (("content", "family"), "gaussian"),
        (("content", "family"), "__import__"),
        (("content", "family"), ["categorical"]),
        (("contexts", "place", "size"), 10**15),
        (("contexts", "place", "family"), "bag"),
        (("contexts", "year", "rate"), 0.0),
        (("contexts", "year", "rate"), None),
        (("contexts", "year", "mean"), 1e400),
        (("contexts", "year", "extra"), 1),
        (("contexts", "where", "mean"), [0.0] * 3),
        (("contexts", "where", "scale"), [[1.0, 0.0], [0.0, -1.0]]),
        (("contexts", "where", "degrees"), None),
        (("contexts", "nothing"), {"family": "bernoulli", "a": 1.0, "b": 1.0}),
        (("alpha",), -1.0),
        (("alpha",), {"shape": 0, "rate": 1}),
        (("lam",), "infinite"),
    ],
)
def test_priors_that_cannot_be_are_refused(words, path, value):
    tensors, meta = words
    meta = copy.deepcopy(meta)
    entry = meta["priors"]
    for key in path[:-1]:
        entry = entry[key]
    entry[path[-1]] = value
    refused(tensors, meta)


def test_contexts_told_twice_or_of_unknown_kind_are_refused(words):
    tensors, meta = words
    for change in ({"name": "day"}, {"kind": "colour"}, {"kind": "bag"}, {"kind": None}):
        listed = copy.deepcopy(meta["contexts"])
        listed[0] |= change
        refused(tensors, meta | {"contexts": listed})
    vocabulary = pack_strings("vocabulary", ["same"] * 12)
    refused(tensors | vocabulary, meta)


# A thousand mutated files ------------------------------------------------------------------------


def mutated_bytes(rng, data: bytes) -> bytes:
    """Return the file with flipped bytes, cut, lengthened, or with another header."""
    kind = rng.integers(5)
    changed = bytearray(data)
    header = int.from_bytes(data[:8], "little")
    if kind == 0:
        for position in rng.integers(0, len(data), rng.integers(1, 10)):
            changed[position] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        changed = changed[: rng.integers(len(data))]
    elif kind == 2:
        start = int(rng.integers(len(data)))
        changed[start:start] = rng.bytes(int(rng.integers(1, 50)))
    elif kind == 3:
        position = 8 + int(rng.integers(header))
        changed[position : position + 1] = rng.choice([b"9", b"-", b'"', b"{", b"]", b"\xff", b""])
    else:
        changed[:8] = int(rng.integers(2 ** rng.integers(1, 60))).to_bytes(8, "little")
    return bytes(changed)


def mutated_tensor(rng, array):
    """Return the array with other values, another shape or another type."""
    kind = rng.integers(6)
    if kind == 0 and array.size:
        flat = array.reshape(-1).copy()
        extremes = {
            "f": [np.nan, np.inf, -np.inf, -1.0, 1e308, 0.0, 1e-320],
            "i": [-1, 0, 1, np.iinfo(array.dtype).max if array.dtype.kind == "i" else 0],
            "u": [0, 127, 255],
        }
        flat[rng.integers(flat.size)] = rng.choice(extremes[array.dtype.kind])
        return flat.reshape(array.shape)
    if kind == 1:
        return array[: rng.integers(array.shape[0] + 1)]
    if kind == 2:
        return np.concatenate([array, array])
    if kind == 3:
        with np.errstate(invalid="ignore"):
            return array.astype(rng.choice(["float32", "int8", "uint8", "int64", "float64"]))
    if kind == 4 and array.size > 1:
        flat = array.reshape(-1).copy()
        return rng.permutation(flat).reshape(array.shape)
    return array.reshape(-1)[::-1].reshape(array.shape[::-1])


def mutated_json(rng, value):
    """Return the JSON with one leaf or branch replaced or removed."""
    nonsense = [None, -1, 0, 1e308, float("nan"), "", "x", [], {}, True, [[]], 2**70, "\ud800"]
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = list(value)[rng.integers(len(value))]
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return value | {key: mutated_json(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.85:
        position = int(rng.integers(len(value)))
        return [*value[:position], mutated_json(rng, value[position]), *value[position + 1 :]]
    return nonsense[rng.integers(len(nonsense))]


def use(posterior, name):
    """Ask questions of a posterior; what was let in must not fail later."""
    with np.errstate(all="ignore"):
        posterior.topics()
        posterior.clusters()
        posterior.representative_groups(cluster=0)
        posterior.diagnostics()
        posterior.context_given_topic(name)


@pytest.mark.parametrize(("vectors", "lam"), [(False, np.inf), (True, 3.0)])
def test_a_thousand_mutated_files_raise_only_the_documented_error(
    tmp_path, monkeypatch, vectors, lam
):
    """Half of each kind is re-signed: the checksum is right, what it covers is not."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # a thousand waits for the disk
    rng = np.random.default_rng(int(vectors))
    tensors, meta = pack_posterior(
        make_posterior(vectors=vectors, n_groups=18, n_draws=6, lam=lam)[0]
    )
    path = tmp_path / "a.mc2"
    write_file(path, "posterior", tensors, meta)
    data = path.read_bytes()
    refused = let_in = 0
    for number in range(1000):
        kind = number % 4
        if kind in (0, 1):
            path.write_bytes(mutated_bytes(rng, data))
        elif kind == 2:
            name = list(tensors)[rng.integers(len(tensors))]
            resigned = tensors | {name: mutated_tensor(rng, tensors[name])}
            write_file(path, "posterior", resigned, meta)
        else:
            write_file(path, "posterior", tensors, mutated_json(rng, meta) or {})
        try:
            back = unpack_posterior(*read_file(path, "posterior"))
        except ModelFileError:
            refused += 1
        else:
            let_in += 1
            use(back, list(back.contexts)[number % len(back.contexts)])
    assert refused > 700
    assert let_in > 10  # harmless changes: another seed, another note, another word


def test_mutated_json_is_still_json(words):
    """The mutations above reach the reader: they are written without an error."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        json.dumps(mutated_json(rng, words[1]))


def test_counts_above_the_limit_of_32_bits_come_back_and_others_stay_32_bit():
    for largest, dtype in ((2**31 - 1, np.int32), (2**31, np.int64)):
        matrix = sparse.csr_matrix(np.array([[0, largest], [3, 0]]))
        tensors = pack_csr("counts", matrix)
        assert tensors["counts.data"].dtype == dtype
        back = Reader(tensors).csr("counts", 2, 2)
        np.testing.assert_array_equal(back.toarray(), matrix.toarray())
