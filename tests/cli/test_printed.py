"""What `mc2 fit` prints about a fitted model."""

from pathlib import Path

from mcsquared import MC2
from mcsquared.cli.fit import print_result


def test_the_printed_numbers_of_topics_add_up(fitted, capsys, monkeypatch):
    model = MC2.load(fitted)
    monkeypatch.setattr("mcsquared.cli.fit.N_PRINTED_TOPICS", 1)
    n_listed = len(model.posterior_.topics())
    model.n_topics_ = n_listed + 2
    print_result(model, Path("papers.mc2"))
    assert capsys.readouterr().out.endswith(f"and {n_listed - 1} more, and 2 that are near-empty\n")


def test_a_consensus_whose_number_of_clusters_differs_from_the_draws_is_explained(fitted, capsys):
    model = MC2.load(fitted)
    print_result(model, Path("papers.mc2"))
    assert "consensus" not in capsys.readouterr().out
    model.posterior_.trace["n_clusters"] = most = model.n_clusters_ + 3
    print_result(model, Path("papers.mc2"))
    assert f"the draws have {most} to {most} clusters each" in capsys.readouterr().out
