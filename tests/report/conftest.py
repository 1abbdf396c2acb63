"""Reports of several kinds of models, written once, and a browser to open them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mcsquared as mc2
from tests.posterior.models import make_posterior
from tests.report.browser import Browser, start_chromium
from tests.report.models import fitted, hostile_corpus, load
from tests.samplers.leveled_cases import two_levels_above


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    driver = start_chromium(tmp_path_factory.mktemp("chromium"))
    yield Browser(driver)
    driver.quit()


TEXTS = [f"Wört0, wört{j % 12} and wört3 of text {j}" for j in range(60)]


class Pages:
    """Reports by kind, each written on first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __getitem__(self, kind: str) -> Path:
        path = self.folder / f"{kind}.html"
        if not path.exists():
            getattr(self, f"_{kind}")(path)
        return path

    def _words(self, path: Path) -> None:
        posterior, corpus, _ = make_posterior(lam=5.0, n_groups=60)
        draws = posterior.cluster_of_group.copy()
        # Group 10 is in the three clusters in turn.
        draws[:, 10] = draws[np.arange(len(draws)), np.resize([15, 30, 50], len(draws))]
        posterior = replace(posterior, cluster_of_group=draws)
        mc2.write_report(posterior, path, corpus=corpus, title="Words of every kind", texts=TEXTS)

    def _words_alone(self, path: Path) -> None:
        mc2.write_report(make_posterior(n_groups=60)[0], path)

    def _vectors(self, path: Path) -> None:
        posterior, corpus, _ = make_posterior(vectors=True, n_groups=60)
        names = ["height", "weight"]
        mc2.write_report(posterior, path, corpus=corpus, dimension_names=names)

    def _pixels(self, path: Path) -> None:
        corpus = mc2.datasets.letters(n_groups_per_cluster=15, random_state=0).corpus
        model = fitted(corpus, lam=float("inf"), max_topics=None, n_chains=2)
        mc2.write_report(model, path, corpus=corpus, title="Letters")

    def _acting(self, path: Path) -> None:
        corpus = make_posterior(n_groups=60)[1]
        options = {"n_sweeps": 12, "burn_in": 4, "random_state": 0, "progress": False}
        model = mc2.MC2(effects=["place", "year"], **options).fit(corpus)
        mc2.write_report(model, path, corpus=corpus, title="Places")

    def _levels(self, path: Path) -> None:
        corpus = two_levels_above()
        model = fitted(corpus, max_topics=None)
        mc2.write_report(model, path, corpus=corpus, title="Cities in countries")

    def _nips(self, path: Path) -> None:
        corpus = load("nips", 150)
        mc2.write_report(fitted(corpus), path, corpus=corpus, title="Papers")

    def _labelme(self, path: Path) -> None:
        mc2.write_report(fitted(load("labelme", 300)), path, title="Scenes")

    def _schools(self, path: Path) -> None:
        corpus = load("schools", 65)
        names = ["exam", "reading"]
        mc2.write_report(fitted(corpus), path, corpus=corpus, dimension_names=names)

    def _hostile(self, path: Path) -> None:
        corpus = hostile_corpus()
        model = fitted(corpus, n_sweeps=8)
        model.posterior_.notes.append("<img src=x onerror='window.harmed = 8'>")
        title = "</title><script>window.harmed = 9</script>"
        mc2.write_report(model, path, corpus=corpus, title=title)


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("pages"))
