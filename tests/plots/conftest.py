"""Figures use a non-interactive backend and are closed after each test."""

import pytest

from tests.posterior.models import make_posterior

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(scope="session")
def posterior():
    """Three clusters, four topics of three words each, a context of every kind, two chains."""
    return make_posterior()[0]


@pytest.fixture(scope="session")
def vectors():
    return make_posterior(vectors=True)[0]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")
