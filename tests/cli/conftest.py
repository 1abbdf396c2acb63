"""A file of papers, and a model of it."""

from pathlib import Path

import pytest

from tests.cli.commands import fit_command, invoke, papers


@pytest.fixture
def papers_file(tmp_path: Path) -> Path:
    path = tmp_path / "papers.csv"
    papers().to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the papers, fitted once."""
    return fit_papers(tmp_path_factory)


@pytest.fixture(scope="session")
def fitted_as_in_the_paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The paper's model of the same papers."""
    return fit_papers(tmp_path_factory, "--paper")


def fit_papers(tmp_path_factory: pytest.TempPathFactory, *more: str) -> Path:
    folder = tmp_path_factory.mktemp("fitted")
    papers().to_csv(folder / "papers.csv", index=False)
    model = folder / "papers.mc2"
    result = invoke(*fit_command(folder / "papers.csv", model, *more))
    assert result.exit_code == 0, result.output
    return model
