"""Compile every kernel before the first fit: ``python -m mcsquared.compile``.

Numba compiles a kernel when it is first used and caches the result next to the source. Compiling
all kernels takes about two and a half minutes, once. For a container image, run it during the
build.
"""

import math
from typing import Any

import numpy as np

from mcsquared.baselines import HDP, MGCTM, NPTOT
from mcsquared.corpus import Corpus
from mcsquared.estimator import MC2
from mcsquared.families import Gaussian
from mcsquared.kernels.cpu.packing import pack_counts, unpack_counts
from mcsquared.kernels.cpu.predictive import WIDE
from mcsquared.model.parameters import LAM
from mcsquared.samplers.steps.slots import TOPIC_SLOTS
from mcsquared.samplers.steps.topic_moves import SWEEPS_BEFORE_MOVES


def compile_kernels() -> None:
    """Fit models to tiny corpora and predict, so that every kernel is used."""
    rng = np.random.default_rng(0)
    contexts = {"year": [1.0, 2.0, 3.0, None], "tags": [["a", "b"], ["a"], None, ["b", "c"]]}
    words = Corpus(rng.poisson([[2.0], [2.0], [6.0], [6.0]], (4, 6)), contexts)  # short and long
    vectors = Corpus([rng.normal(size=(3, 2)) for _ in range(4)], contexts)
    wide = Corpus([rng.normal(size=(3, WIDE + 1)) for _ in range(4)])
    for lam in (LAM.default, math.inf):
        _use(_model(lam=lam, n_sweeps=SWEEPS_BEFORE_MOVES + 2).fit(wide), wide)
    for corpus in (words, vectors):
        for lam in (LAM.default, math.inf):
            _use(_model(lam=lam).fit(corpus), corpus)
        _use(_model(effects=list(corpus.contexts)).fit(corpus), corpus)
        for name in corpus.contexts:
            _model(effects=[name]).fit(corpus).predict_context(corpus, name)
        _model(lam=math.inf, sampler="collapsed").fit(corpus)
        _model(contexts={"year": Gaussian(background=True), "tags": "auto"}).fit(corpus)
        units = corpus.with_contexts({"unit": list("aabb")}).with_levels("unit")
        for lam in (LAM.default, math.inf):
            _model(lam=lam).fit(units)
    _model(n_sweeps=SWEEPS_BEFORE_MOVES + 40).fit(words)  # enough sweeps for a topic to be split
    # Some kernels are compiled for each number of topic slots: rows for topics, occupied
    # or not. The largest number is rare. Every word here has a topic of its own.
    distinct = Corpus(np.eye(400, dtype=int).reshape(8, 50, 400).sum(axis=1))
    for n_slots in TOPIC_SLOTS[1:-1]:
        for lam in (1000.0, math.inf):
            _model(eta=1000.0, v=1000.0, max_topics=n_slots, lam=lam).fit(distinct)
    _compile_baselines(words)
    for dtype in (np.int32, np.int64):  # what workers of a cluster send
        counts = np.arange(9, dtype=dtype)
        unpack_counts(*pack_counts(counts), 0, np.zeros_like(counts))


def _compile_baselines(words: Corpus) -> None:
    short: dict[str, Any] = {"n_sweeps": 12, "burn_in": 2, "random_state": 0}
    for model in (HDP(progress=False, **short), NPTOT("year", progress=False, **short)):
        model.fit(words).transform(words)
    MGCTM(2, 2, 2, **short).fit(words).predict(words)


def _model(**parameters: Any) -> MC2:
    schedule = {"n_sweeps": 4, "burn_in": 2, "thin": 1, "random_state": 0, "progress": False}
    return MC2(**(schedule | parameters))


def _use(model: MC2, corpus: Corpus) -> None:
    model.predict(corpus)
    model.transform(corpus)
    model.perplexity(corpus)
    model.score(corpus)


if __name__ == "__main__":
    compile_kernels()
