"""A corpus on disk, or larger than the memory of the GPU, has the draws of one that stays on it.

Without a GPU these tests run in numba's simulator, on tiny data, see `test_simulator`.
"""

import threading
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import mcsquared as mc2
from mcsquared.errors import InputError
from mcsquared.fitting import disk
from mcsquared.observations.disk import DiskObservations
from mcsquared.samplers.types import Key
from tests.kernels.test_cuda import VARYING, Case, memory, size
from tests.samplers.test_python_families import DrawnVisits
from tests.test_chain import assert_same_draws

pytest.importorskip("pyarrow")
__all__ = ["memory", "size"]  # fixtures

N_GROUPS, N_SHARDS, WAIT = 6, 3, 20.0  # seconds, for what another thread does at once
CORPUS = "mcsquared.samplers.backends.cuda.corpus"
SCHEDULE = {"n_sweeps": 3, "burn_in": 1, "thin": 1, "random_state": 0, "progress": False}
BOUNDS = {"max_clusters": 4, "max_topics": 16, "init": "random"}
CASES = {
    "words-shared": ("tokens", {"lam": np.inf}),
    "words-varying": ("tokens", {"lam": VARYING}),
    "words-effects": ("tokens", {"lam": VARYING, "effects": ["kind", "year"]}),
    "words-levels": ("tokens", {"contexts": {"kind": "auto", "visits": DrawnVisits()}}),
    "vectors-shared": ("vectors", {"lam": np.inf}),
    "vectors-varying": ("vectors", {"lam": VARYING}),
}


@pytest.fixture(scope="module")
def frame():
    """Groups of which one is empty, and contexts with missing values."""
    rng = np.random.default_rng(0)
    sizes = [0 if j == 4 else int(rng.integers(1, 4)) for j in range(N_GROUPS)]
    year = np.where(rng.random(N_GROUPS) < 0.2, np.nan, rng.normal(2000, 5, N_GROUPS))
    return pd.DataFrame(
        {
            "tokens": [[f"w{word}" for word in rng.integers(0, 6, n)] for n in sizes],
            "vectors": [rng.normal(3 * (j % 2), 1, (n, 2)).tolist() for j, n in enumerate(sizes)],
            "year": year,
            "kind": [None if j % 5 == 0 else "ab"[j % 2] for j in range(N_GROUPS)],
            "visits": rng.poisson(3.0, N_GROUPS).astype(float),
            "city": [None if j == 1 else "xy"[j % 2] for j in range(N_GROUPS)],
        }
    )


@pytest.fixture
def on_disk(memory, monkeypatch):
    """Leave the corpus on disk, in three shards, two of which are on the GPU at a time."""
    monkeypatch.setattr(disk, "bytes_of", lambda source: 10**18)
    monkeypatch.setattr(disk, "shards_for", lambda observations, n_in_memory: N_SHARDS)
    monkeypatch.setattr(disk, "max_in_memory", lambda source: disk.MAX_SAMPLED)
    monkeypatch.setattr("mcsquared.samplers.steps.topic_moves.SWEEPS_BEFORE_MOVES", 1)
    monkeypatch.setattr(f"{CORPUS}.ITEMS_PER_BLOCK", 8)
    limit_device_memory(monkeypatch)
    return monkeypatch


def limit_device_memory(monkeypatch):
    monkeypatch.setattr(f"{CORPUS}.free_bytes", lambda: 100)
    monkeypatch.setattr(f"{CORPUS}._n_shards", lambda *given: 1)


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request, frame, tmp_path):
    """A corpus in memory, the same on disk, and a model."""
    content, options = request.param
    contexts, levels = ["kind", "year"], []
    if "contexts" in options:
        contexts, levels = ["kind", "visits"], ["city"]
    frame[[content, *contexts, *levels]].to_parquet(tmp_path / "groups.parquet")
    tokens = [np.array(group, float).reshape(-1, 2) for group in frame["vectors"]]
    corpus = mc2.Corpus(tokens, frame[contexts])
    if content == "tokens":
        corpus = mc2.Corpus.from_frame(frame, text=content, contexts=contexts, levels=levels)
    folder = mc2.ParquetFolder(tmp_path, levels=levels or None)
    return corpus, folder, mc2.MC2(device="cuda", **SCHEDULE, **BOUNDS, **options)


def test_a_corpus_on_disk_has_the_draws_of_one_that_stays_on_the_gpu(case, on_disk):
    corpus, folder, model = case
    found = model.fit(folder)
    posterior, labels = found.posterior_, found.labels_
    on_disk.setattr(f"{CORPUS}.free_bytes", lambda: 10**9)
    assert_same_draws(model.fit(corpus).posterior_, posterior)
    np.testing.assert_array_equal(model.labels_, labels)


def test_shards_on_disk_that_fit_into_the_memory_of_the_gpu_are_copied_once(
    frame, on_disk, tmp_path
):
    frame[["tokens", "year"]].to_parquet(tmp_path / "groups.parquet")
    model, read, posteriors = mc2.MC2(device="cuda", lam=np.inf, **SCHEDULE, **BOUNDS), [], []
    shard = DiskObservations.shard
    on_disk.setattr(DiskObservations, "shard", lambda *given: read.append(given) or shard(*given))
    for n_bytes in (100, 10**9):
        on_disk.setattr(f"{CORPUS}.free_bytes", lambda n_bytes=n_bytes: n_bytes)
        posteriors.append(model.fit(mc2.ParquetFolder(tmp_path)).posterior_)
        read.append("all")
    n_streamed = read.index("all")
    assert n_streamed - (len(read) - n_streamed - 2) == N_SHARDS * (SCHEDULE["n_sweeps"] - 1)
    assert_same_draws(*posteriors)


@pytest.mark.parametrize("lam", [np.inf, VARYING], ids=["shared", "varying"])
def test_a_run_on_disk_resumes_from_its_checkpoint(lam, frame, on_disk, tmp_path):
    def kill(info):
        if info.sweep == 2:
            raise RuntimeError("killed")

    (tmp_path / "groups").mkdir()
    frame[["tokens", "year", "kind"]].to_parquet(tmp_path / "groups" / "all.parquet")
    folder, options = mc2.ParquetFolder(tmp_path / "groups"), {**SCHEDULE, **BOUNDS, "lam": lam}
    options |= {"device": "cuda", "checkpoint_every": 1e-9}
    whole = mc2.MC2(**options).fit(folder)
    with pytest.raises(RuntimeError, match="killed"):
        mc2.MC2(checkpoint=tmp_path / "run", callbacks=[kill], **options).fit(folder)
    resumed = mc2.MC2(checkpoint=tmp_path / "run", **options).fit(folder)
    assert_same_draws(resumed.posterior_, whole.posterior_)
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)


def test_a_word_with_more_tokens_than_32_bits_count_is_refused(frame, on_disk, tmp_path):
    frame[["tokens"]].to_parquet(tmp_path / "groups.parquet")
    on_disk.setattr("mcsquared.samplers.backends.cuda.MAX_TOKENS", 3)
    with pytest.raises(InputError, match="device 'cuda' requires <= 3 tokens of each word, got"):
        mc2.MC2(device="cuda", **SCHEDULE).fit(mc2.ParquetFolder(tmp_path))


def test_a_corpus_of_which_a_chunk_exceeds_the_memory_of_the_gpu_is_refused(size, memory):
    message = "device 'cuda' requires [0-9]+ bytes for the largest of 64 parts of the corpus, got 2"
    with pytest.raises(InputError, match=message):
        Case("words", np.inf, size).device(max_bytes=10)


class Log:
    """Calls of a function by another thread, in their order."""

    def __init__(self, function):
        self.function, self.numbers, self.changed = function, [], threading.Condition()

    def __call__(self, number):
        found = self.function(number)
        with self.changed:
            self.numbers.append(number)
            self.changed.notify_all()
        return found

    def wait_for(self, n_calls):
        with self.changed:
            return self.changed.wait_for(lambda: len(self.numbers) >= n_calls, WAIT)


def test_the_next_shard_is_copied_while_a_shard_is_swept(size, memory, monkeypatch):
    limit_device_memory(monkeypatch)
    case = Case("words", VARYING, size)
    monkeypatch.setattr(f"{CORPUS}._n_shards", lambda *given: 4)
    backend = case.device(max_bytes=100)
    backend.load_labels(case.state, Key(0, 0, case.state.sweep))
    log = Log(backend.corpus.load)
    monkeypatch.setattr(backend.corpus, "load", log)
    n_shards = backend.groups.n_shards
    assert n_shards > 2
    for number, (shard, (_, topics)) in enumerate(backend.groups.shards()):
        assert log.wait_for(min(number + 2, n_shards))  # while this shard is in use
        assert log.numbers == list(range(min(number + 2, n_shards)))
        first = shard.first_token
        expected = case.state.topic_of_token[first : first + len(topics)]
        np.testing.assert_array_equal(memory.copy_to_host(topics), expected)


class LateStream:
    """A stream whose copies happen as late as they may: when they are waited for."""

    def __init__(self):
        self.copies = []

    def copy(self, target, source, n_bytes, stream):
        assert stream is self
        assert target.nbytes == source.nbytes == n_bytes
        self.copies.append((target, source))

    def synchronize(self):
        for target, source in self.copies:
            target[:] = source
        self.copies.clear()


def test_buffers_are_filled_again_only_after_they_have_been_copied(memory, monkeypatch):
    """What the simulator leaves out, with host memory in place of that of the GPU."""
    stream = LateStream()
    create = SimpleNamespace(cuStreamCreate=lambda flags: 7)
    copies = {"host_to_device": stream.copy, "device_to_host": stream.copy}
    driver = SimpleNamespace(driver=create, **copies)
    device = SimpleNamespace(device=SimpleNamespace(id=0))
    cuda = SimpleNamespace(
        current_context=lambda: device,
        cudadrv=SimpleNamespace(driver=driver),
        external_stream={7: stream}.get,
        pinned_array=np.empty,
        to_device=np.array,
    )
    monkeypatch.setattr(memory, "SIMULATED", False)
    monkeypatch.setattr(memory, "BYTES_PER_COPY", 64)
    monkeypatch.setattr(memory, "cuda", cuda)
    monkeypatch.setattr(memory, "empty", np.empty)
    copier, arrays, rng = memory.Copier(), memory.DeviceArrays(), np.random.default_rng(0)
    for n in (50, 7, 90):
        given = {
            "rows": rng.normal(size=(n, 3)),
            "topics": rng.integers(0, 99, 5 * n).astype(np.uint16),
            "empty": np.zeros((0, 2), np.int32),
        }
        found = arrays.filled(given, copier)
        for name, array in given.items():
            np.testing.assert_array_equal(getattr(found, name), array)
            assert getattr(found, name).dtype == array.dtype
        np.testing.assert_array_equal(copier.to_host(found.topics), given["topics"])
