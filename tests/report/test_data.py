"""The data of a report agree with the tables of the posterior."""

import base64

import numpy as np
import pytest

from mcsquared.errors import InputError
from mcsquared.posterior.membership import group_confidence, likely_clusters
from mcsquared.posterior.names import TopicWords
from mcsquared.report import render, report_data, write_report
from mcsquared.report.content import image_shape_of
from mcsquared.report.overview import checks
from mcsquared.report.packing import embedded_json
from tests.posterior.models import make_posterior
from tests.report.test_packing import unpacked


@pytest.fixture(scope="module")
def report():
    posterior, corpus, _ = make_posterior(n_groups=60, lam=5.0)
    return posterior, report_data(posterior, corpus)


def test_groups_have_the_clusters_of_the_consensus_and_their_confidence(report):
    posterior, data = report
    np.testing.assert_array_equal(unpacked(data["groups"]["cluster"]), posterior.labels)
    found = unpacked(data["groups"]["confidence"]) / 255
    np.testing.assert_allclose(found, group_confidence(posterior), atol=0.003)


def test_topic_shares_of_clusters_are_within_their_range_over_draws(report):
    posterior, data = report
    for k, rows in enumerate(data["clusters"]["topics"]):
        for topic, share, low, high in rows:
            assert low <= share <= high
            assert share == pytest.approx(posterior.token_shares[k, topic], abs=1e-4)


def test_shares_of_clusters_in_a_topic_sum_to_one(report):
    posterior, data = report
    for m, rows in enumerate(data["topics"]["clusters"]):
        assert sum(part for _, part, _ in rows) == pytest.approx(1.0, abs=0.01)
        for k, _, share in rows:
            assert share == pytest.approx(posterior.token_shares[k, m], abs=1e-4)


def test_context_data_equal_the_tables_of_the_posterior(report):
    posterior, data = report
    by_name = {context["name"]: context for context in data["contexts"]}
    for name in ("year", "day", "visits"):
        table = posterior.context_given_cluster(name).to_numpy().T
        found = unpacked(by_name[name]["by_cluster"]).reshape(table.shape)
        np.testing.assert_allclose(found, table, rtol=1e-5)
    assert by_name["place"]["table"] == by_name["tags"]["table"] == "categories"
    assert by_name["flag"]["categories"] == ["no", "yes"]
    assert by_name["where"]["table"] == "vector"
    missing = np.isnan(posterior.contexts["year"].values)
    assert by_name["year"]["missing"] == pytest.approx(missing.mean())


def test_values_of_groups_can_be_decoded(report):
    posterior, data = report
    by_name = {context["name"]: context for context in data["contexts"]}
    codes = unpacked(by_name["place"]["values"]).astype(int) - 1
    np.testing.assert_array_equal(codes, posterior.contexts["place"].values)
    lengths = unpacked(by_name["tags"]["values"]["lengths"])
    np.testing.assert_array_equal(lengths, np.diff(posterior.contexts["tags"].values.indptr))


def test_topic_shares_in_each_bin_of_a_number_sum_to_one():
    posterior, corpus, _ = make_posterior(n_groups=60, lam=5.0)
    data = report_data(posterior, corpus)
    [year] = [context for context in data["contexts"] if context["name"] == "year"]
    shares = unpacked(year["by_value"]["by_topic"]).reshape(posterior.n_topics, -1)
    np.testing.assert_allclose(shares.sum(axis=0), 1.0, rtol=1e-4)


def test_the_first_choice_of_most_groups_is_their_cluster():
    posterior, _, _ = make_posterior(n_groups=60, noise=0.2)
    likely = likely_clusters(posterior)
    assert (likely.probability.sum(axis=1) > 0.9).all()
    first = likely.choice[:, 0]
    assert (first == posterior.labels).mean() > 0.9
    second = likely.second_choice(posterior.labels)
    assert not (second == posterior.labels).any()


def test_pixels_are_recognised_by_their_names():
    names = np.array([f"r{i}c{j}" for i in range(3) for j in range(2)], dtype=object)
    assert image_shape_of(names) == (3, 2)
    assert image_shape_of(names[::-1]) is None
    assert image_shape_of(np.array(["word"], dtype=object)) is None


def test_names_of_topics_do_not_repeat_a_stem():
    posterior, _, _ = make_posterior()
    words = TopicWords(posterior)
    words.vocabulary = np.array(
        ["unit", "units", "policy", "policies", "state", *[f"other{'x' * i}" for i in range(7)]],
        dtype=object,
    )
    words.readable = True
    probability = np.array([0.3, 0.25, 0.2, 0.1, 0.1] + [0.05 / 7] * 7)
    assert words.name(probability) == "unit, policy, state"


def test_codes_are_not_used_as_names():
    posterior, _, _ = make_posterior()
    assert not TopicWords(posterior).readable
    assert TopicWords(posterior).name(posterior.components[0]) == ""


def test_reached_bounds_and_chains_that_have_not_converged_are_reported(report):
    posterior, _ = report
    posterior.notes.append("max_topics=4 was reached: the data may support more topics")
    titles = {check["title"]: check["level"] for check in report_data(posterior)["checks"]}
    posterior.notes.pop()
    assert titles["A bound was reached"] == "bad"
    assert titles["The chains have not converged"] == "watch"


def test_chains_that_differ_are_bad():
    posterior, _, _ = make_posterior()
    posterior.trace.loc[posterior.trace["chain"] == 1, "log_joint"] += 100.0
    first = report_data(posterior)["checks"][0]
    assert (first["level"], first["title"]) == ("bad", "The chains have not converged")
    assert "log joint density (R-hat " in first["text"]


def test_the_first_check_is_the_sentence_of_the_fit():
    posterior, _, _ = make_posterior()
    first = report_data(posterior)["checks"][0]
    assert first["title"] == "The chains have not converged"
    assert first["text"].startswith("Not converged after 50 sweeps of 2 chains: ")
    posterior.notes.append("not converged after 600 sweeps of 2 chains: lam; about 9 are needed")
    first = report_data(posterior)["checks"][0]
    assert first["text"].startswith("Not converged after 600 sweeps of 2 chains: lam; about 9 are")


@pytest.mark.parametrize(
    ("n_chains", "level", "title"),
    [(2, "good", "The chains have converged"), (1, "watch", "The chain has converged")],
)
def test_a_converged_run_is_good_if_it_has_several_chains(n_chains, level, title):
    posterior, _, _ = make_posterior(n_draws=400, noise=0.2)
    chosen = posterior.chain_of_draw < n_chains
    posterior.cluster_of_group = posterior.cluster_of_group[chosen]
    posterior.chain_of_draw = posterior.chain_of_draw[chosen]
    posterior.parameters = [draw for draw in posterior.parameters if draw.index < chosen.sum()]
    posterior.trace = posterior.trace[posterior.trace["chain"] < n_chains]
    first = report_data(posterior)["checks"][0]
    assert (first["level"], first["title"]) == (level, title)
    assert first["text"].startswith("Converged after ")


def test_a_report_of_a_sample_says_so(monkeypatch):
    posterior, corpus, _ = make_posterior(n_groups=60)
    monkeypatch.setattr("mcsquared.report.page.MAX_LISTED_GROUPS", 25)
    data = report_data(posterior, corpus)
    assert data["groups"]["n"] == len(data["groups"]["names"]) == 25
    assert any("25 of 60 groups" in text for text in data["limitations"])
    numbers = unpacked(data["groups"]["numbers"])
    np.testing.assert_array_equal(
        unpacked(data["groups"]["cluster"]), posterior.labels[numbers.astype(int)]
    )
    assert unpacked(data["clusters"]["size"]).sum() == 60


def test_inconsistent_arguments_are_rejected(tmp_path):
    posterior, _, _ = make_posterior()
    with pytest.raises(InputError, match=r"image_shape must have \d+ pixels, got \(5, 5\)"):
        write_report(posterior, tmp_path / "page.html", image_shape=(5, 5))
    with pytest.raises(InputError, match="model must be a fitted MC2 or a Posterior, got"):
        write_report("model", tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_the_same_model_gives_the_same_report(report):
    posterior, _ = report
    assert embedded_json(report_data(posterior)) == embedded_json(report_data(posterior))


def test_the_content_security_policy_allows_only_the_script_of_the_page(report):
    page = render(report[1])
    policy = page.partition('Content-Security-Policy" content="')[2].partition('">')[0]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert len(base64.b64decode(policy.partition("script-src 'sha256-")[2].partition("'")[0])) == 32
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page


def test_means_of_contexts_are_those_of_the_table_of_clusters(report):
    posterior, data = report
    contexts = {context["name"]: context for context in data["contexts"]}
    table = posterior.clusters()
    for name in ("year", "visits"):
        np.testing.assert_allclose(
            unpacked(contexts[name]["cluster_mean"]), table[name].to_numpy(float), rtol=1e-5
        )
    tokens = posterior.tokens_of_cluster[:, None] * posterior.token_shares
    expected = (tokens / tokens.sum(axis=0)).T @ table["year"].to_numpy(float)
    np.testing.assert_allclose(unpacked(contexts["year"]["topic_mean"]), expected, rtol=1e-6)


def test_typical_groups_of_a_topic_are_sorted_by_score():
    posterior, corpus, _ = make_posterior(n_groups=60, lam=5.0)
    for found in report_data(posterior, corpus)["topics"]["typical"]:
        shares = [round(share, 2) for _, share in found]
        assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize(
    ("unsure", "begins"),
    [(0, "All groups share"), (1, "99% of the groups"), (1000, "No groups share")],
)
def test_the_check_says_all_only_if_all_groups_are_certain(unsure, begins):
    posterior, _, _ = make_posterior()
    confidence = np.ones(1000)
    confidence[:unsure] = 0.5
    found = checks(posterior, confidence, report_data(posterior)["diagnostics"])
    [text] = [check["text"] for check in found if "with the same groups" in check["text"]]
    assert text.startswith(begins)
    assert ("; their pages list" in text) == (unsure == 1000)


def test_the_check_says_why_the_consensus_has_fewer_clusters_than_any_draw(monkeypatch):
    posterior, _, _ = make_posterior()
    diagnostics = report_data(posterior)["diagnostics"]
    for n_clusters, is_explained in ((posterior.n_clusters, False), (1, True)):
        monkeypatch.setattr(type(posterior), "n_clusters", n_clusters)
        texts = [check["text"] for check in checks(posterior, np.ones(60), diagnostics)]
        assert any("fewer clusters than any draw" in text for text in texts) == is_explained
