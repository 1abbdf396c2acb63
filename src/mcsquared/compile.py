"""Compile every kernel before the first fit: ``python -m mcsquared.compile``.

Numba compiles a kernel when it is first used and caches the result next to the source. Compiling
all kernels takes about ninety seconds, once; for a container image, run it during the build.
"""

import math
from typing import Any

import numpy as np

from mcsquared.corpus import Corpus
from mcsquared.estimator import MC2
from mcsquared.model.parameters import LAM
from mcsquared.samplers.steps.topic_moves import SWEEPS_BEFORE_MOVES

# Some kernels are compiled for each number of topic slots (rows reserved for topics, occupied or
# not). Besides that of the smallest models, these numbers are the most frequent; others are
# compiled when they are needed.
MORE_SLOTS = (64, 112)


def compile_kernels() -> None:
    """Fit models to tiny corpora and predict, so that every kernel is used."""
    rng = np.random.default_rng(0)
    contexts = {"year": [1.0, 2.0, 3.0, None], "tags": [["a", "b"], ["a"], None, ["b", "c"]]}
    words = Corpus(rng.poisson([[2.0], [2.0], [6.0], [6.0]], (4, 6)), contexts)  # short and long
    vectors = Corpus([rng.normal(size=(3, 2)) for _ in range(4)], contexts)
    for corpus in (words, vectors):
        for lam in (LAM.default, math.inf):
            _use(_model(lam=lam).fit(corpus), corpus)
        _use(_model(effects=list(corpus.contexts)).fit(corpus), corpus)
        for name in corpus.contexts:
            _model(effects=[name]).fit(corpus).predict_context(corpus, name)
        _model(lam=math.inf, sampler="collapsed").fit(corpus)
    _model(n_sweeps=SWEEPS_BEFORE_MOVES + 40).fit(words)  # enough sweeps for a topic to be split
    for n_slots in MORE_SLOTS:
        for lam in (LAM.default, math.inf):
            _model(eta=50.0, max_topics=n_slots, lam=lam).fit(words)


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
