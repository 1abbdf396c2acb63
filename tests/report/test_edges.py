"""Edge cases: one group, nothing observed, no content, user-defined families."""

from dataclasses import dataclass
from time import process_time

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared.corpus import Corpus
from mcsquared.families import ConjugateFamily
from mcsquared.report import report_data
from mcsquared.report.layout import cluster_discs, disc_colours
from tests.report.models import fitted

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(1.0, (20, 9))


@dataclass(frozen=True)
class Exponential(ConjugateFamily):
    """Waiting times: a user-defined family without a table."""

    shape: float = 1.0
    rate: float = 1.0

    name = "exponential_of_a_report"
    n_stats = 2

    def statistics(self, x):
        x = np.asarray(x, dtype=float).reshape(len(x), -1)[:, 0]
        return np.stack([np.ones_like(x), x], axis=-1)

    def log_normaliser(self, stats):
        from scipy.special import gammaln

        n, total = np.moveaxis(stats, -1, 0)
        return gammaln(self.shape + n) - (self.shape + n) * np.log(self.rate + total)


CASES = {
    "one group": (Corpus(np.array([[3, 1, 0]])), {}),
    "no contexts": (Corpus(COUNTS), {}),
    "no content": (Corpus(np.zeros((8, 4), int), {"x": RNG.normal(size=8)}), {}),
    "nothing observed": (
        Corpus(COUNTS, {"x": [np.nan] * 20, "c": [None] * 20, "b": [[]] * 20}),
        {},
    ),
    "constants": (Corpus(COUNTS, {"x": [3.0] * 20, "c": ["a"] * 20, "flag": [True] * 20}), {}),
    "large and small": (
        Corpus(COUNTS, {"id": 1e12 + np.arange(20.0), "tiny": 1e-9 * RNG.normal(size=20)}),
        {},
    ),
    "long names": (
        Corpus(
            COUNTS,
            {"c" * 300: [f"{'x' * 3000}{i % 3}" for i in range(20)]},
            group_names=["n" * 5000 + str(i) for i in range(20)],
            vocabulary=["w" * 400 + str(i) for i in range(9)],
        ),
        {},
    ),
    "counts as content": (
        Corpus([RNG.poisson(3, (6, 1)).astype(float) for _ in range(9)]),
        {"content": "poisson"},
    ),
    "a context of one's own": (
        Corpus(COUNTS, {"wait": RNG.exponential(size=20)}),
        {"contexts": {"wait": Exponential()}},
    ),
    "wide vectors": (Corpus([RNG.normal(size=(9, 40)) for _ in range(6)]), {}),
}


@pytest.mark.parametrize("case", CASES)
def test_edge_cases_have_a_report(browser, tmp_path, case):
    corpus, options = CASES[case]
    path = tmp_path / "page.html"
    mc2.write_report(fitted(corpus, n_sweeps=6, **options), path, corpus=corpus)
    browser.open(path)
    for section in ("map", "clusters", "topics", "groups", "diagnostics"):
        browser.go(section)
    browser.resize(400)
    for address in ("clusters/0", "topics/0", "groups/0", "groups/99999", "nowhere"):
        browser.go(*address.split("/"))
        assert browser.overflow() <= 0, address
    assert browser.console_messages() == []


def test_thousands_of_clusters_do_not_take_long():
    rng = np.random.default_rng(0)
    features = np.sqrt(rng.dirichlet(np.full(8, 0.3), 900))
    started = process_time()
    disc_colours(cluster_discs(features, rng.integers(1, 50, 900)))
    assert process_time() - started < 20


def test_an_image_of_vectors_is_drawn():
    corpus = Corpus([RNG.normal(size=(6, 4)) for _ in range(9)])
    data = report_data(fitted(corpus, n_sweeps=6).posterior_, image_shape=(2, 2))
    assert data["content"]["image"] == (2, 2)
    assert data["topics"]["images"] is not None
