"""Small corpora for the estimator, and what must hold of every fit to one."""

import numpy as np

import mcsquared as mc2

N = 12
rng = np.random.default_rng(12)
COUNTS = rng.poisson(1.0, (N, 5))
COUNTS[[2, 9]] = 0
FRUIT = np.array(["apple", "pear", "plum", "fig", "nut"], object)
TOKENS = [list(np.repeat(FRUIT, row)) for row in COUNTS]
SIZES = rng.integers(1, 5, N)
SIZES[[0, 7]] = 0


def arrays(width, draw=rng.normal):
    return [np.asarray(draw(size=(size, width)), float) for size in SIZES]


def model(**parameters):
    defaults = {"n_sweeps": 8, "burn_in": 2, "thin": 1, "random_state": 0, "progress": False}
    return mc2.MC2(**(defaults | parameters))


def check(fitted, X, contexts=None, n_groups=N):
    assert fitted.labels_.shape == (n_groups,)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    for shares, width in (
        (fitted.predict_proba(X, contexts=contexts), fitted.n_clusters_),
        (fitted.transform(X, contexts=contexts), fitted.n_topics_),
    ):
        assert shares.shape == (n, width)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert fitted.predict(X, contexts=contexts).shape == (n,)
    return fitted
