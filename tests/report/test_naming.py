"""Clusters are named after values that most of their groups have."""

import re

import numpy as np
import pytest

import mcsquared as mc2
from mcsquared.posterior.names import (
    _majority_values,
    _unique,
    cluster_names,
    topic_names,
)
from mcsquared.posterior.shared_values import SharedValue, last_phrase, shared_values
from mcsquared.storage import pack_posterior, unpack_posterior
from tests.plots.test_clusters import bare_posterior
from tests.posterior.models import make_posterior

SIZES = (20, 12, 8)
TRUTH = np.repeat([0, 1, 2], SIZES)


def named(**contexts):
    """Return the names of three known clusters of vectors with these contexts."""
    rng = np.random.default_rng(0)
    corpus = mc2.Corpus([rng.normal(size=(3, 2)) for _ in TRUTH], contexts)
    posterior = bare_posterior(corpus, TRUTH[None, :].repeat(4, axis=0).astype(np.int32))
    columns = posterior.priors.columns(corpus)
    posterior = mc2.Posterior(**{**vars_of(posterior), "contexts": columns})
    return cluster_names(posterior)


def vars_of(posterior):
    names = (
        "priors group_names vocabulary tokens_per_group cluster_of_group chain_of_draw "
        "sweep_of_draw trace parameters"
    )
    return {name: getattr(posterior, name) for name in names.split()}


def test_a_rare_value_does_not_name_a_cluster():
    gender = ["mixed"] * 14 + ["boys"] * 6 + ["mixed"] * 10 + ["boys"] * 2 + ["girls"] * 8
    assert named(gender=gender) == ["", "mixed", "girls"]


def test_numbers_and_dates_name_clusters_that_are_low_or_high_or_narrow():
    day = np.datetime64("2020-01-01") + np.array([200, 100, 0])[TRUTH].astype("timedelta64[D]")
    intake = np.array([-1.0, 0.9, 0.2])[TRUTH]
    assert named(intake=intake) == ["low intake", "high intake", "intake near 0.2"]
    assert named(day=day) == ["late day", "day near 2020-04-10", "early day"]
    wide = np.where(np.arange(len(TRUTH)) % 2, -1.0, 1.0)
    assert named(wide=wide) == ["", "", ""]


def test_booleans_name_clusters_and_a_name_has_at_most_two_phrases():
    names = named(
        public=[True] * 20 + [False] * 20,
        size=np.array([5.0, 1.0, 1.0])[TRUTH],
        age=np.array([5.0, 1.0, 1.0])[TRUTH],
    )
    assert names[0] == "public, high size"
    assert names[1] == "not public, low size"


def test_products_with_numbers_name_topics_and_codes_do_not():
    for items, first in (
        (["LED lamp, 9 W", "cable 3×1.5"], "LED lamp, 9 W"),
        (["s7", "vw 12"], ""),
    ):
        corpus = mc2.Corpus.from_tokens([items, items[:1]] * 10)
        posterior = mc2.MC2(n_sweeps=4, random_state=0, progress=False).fit(corpus).posterior_
        assert topic_names(posterior)[0].startswith(first)
        assert bool(topic_names(posterior)[0]) == bool(first)


def test_values_that_say_nothing_alone_have_the_name_of_their_context():
    answers = np.array(["yes", "no", "DE"])[TRUTH]
    assert named(member=answers) == ["member: yes", "member: no", "member: DE"]
    assert named(age=np.array(["10-20", "7", "older"])[TRUTH])[:2] == ["age: 10-20", "age: 7"]
    assert named(city=np.array(["北京", "Bonn", "Ulm"])[TRUTH]) == ["北京", "Bonn", "Ulm"]


def test_items_of_a_bag_take_precedence_in_names():
    tags = [["sky", f"tag{k}"] for k in TRUTH]
    assert named(x=TRUTH * 1.0, tags=tags) == ["tag0", "tag1", "tag2"]


@pytest.mark.parametrize(
    "contexts",
    [{}, {"x": np.full(40, 3.0)}, {"x": np.full(40, np.nan)}, {"place": np.zeros((40, 2))}],
)
def test_clusters_that_do_not_differ_have_no_names(contexts):
    assert named(**contexts) == ["", "", ""]


def test_topics_of_vectors_without_a_bag_are_named_by_their_dimensions():
    posterior, _, _ = make_posterior(vectors=True, contexts=False)
    names = topic_names(posterior, ["height", "weight"])
    assert len(set(names)) == posterior.n_topics
    assert all(re.match("(low|high) (height|weight)", name) for name in names if name)
    assert sum(map(bool, names)) >= 2
    assert any(cluster_names(posterior, ["height", "weight"]))


WORDS = ["ant", "bee", "cow", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "kite", "lark"]


@pytest.fixture(scope="module")
def long_group():
    """Return a posterior with words, one group of which contains "lark" a thousand times."""
    posterior, corpus, _ = make_posterior(n_groups=60, noise=0.0, contexts=False)
    counts = corpus.content.counts.toarray()
    counts[5, 11] = 1000
    posterior.vocabulary = np.array(WORDS, dtype=object)
    posterior.document_frequency = (counts > 0).sum(axis=0)
    posterior.tokens_per_group = counts.sum(axis=1)
    posterior.attach_content(mc2.Corpus(counts, vocabulary=WORDS))
    return posterior, counts > 0


def test_a_word_of_one_long_group_does_not_name_its_cluster(long_group):
    posterior, occurs = long_group
    for k, name in enumerate(cluster_names(posterior)):
        shares = occurs[posterior.labels == k].mean(axis=0)
        assert any(shares[WORDS.index(word)] >= 0.5 for word in name.split(", "))
        assert "lark" not in name.split(", ") or shares[11] > 0.2
    listed = posterior.cluster_content
    share = listed.n_groups / np.bincount(posterior.labels)[:, None]
    assert (share[listed.words >= 0] <= 1.0).all()


def rare_words(most):
    """Return a posterior without a word in half of the groups of a cluster, and its words."""
    posterior = make_posterior(n_groups=60, noise=0.0, contexts=False)[0]
    rng = np.random.default_rng(0)
    occurs = (rng.random((60, 12)) < np.linspace(0.03, most, 12)).astype(int)
    posterior.vocabulary = np.array(WORDS, dtype=object)
    posterior.document_frequency = occurs.sum(axis=0)
    posterior.tokens_per_group = occurs.sum(axis=1)
    posterior.attach_content(mc2.Corpus(occurs, vocabulary=WORDS))
    return posterior, occurs


def test_without_a_common_word_a_cluster_is_named_by_words_one_of_which_most_groups_have():
    posterior, occurs = rare_words(0.4)
    n_alternatives = 0
    for k, name in enumerate(cluster_names(posterior)):
        in_cluster = occurs[posterior.labels == k]
        alternatives = [WORDS.index(word) for word in name.rpartition(", ")[2].split(" or ")]
        n_alternatives += len(alternatives) > 1
        assert in_cluster[:, alternatives].any(axis=1).mean() >= 0.5
        assert (len(alternatives) > 1) == (in_cluster.mean(axis=0).max() < 0.5)
    assert n_alternatives > 0


def test_without_common_alternatives_a_cluster_is_mixed_and_named_by_its_most_frequent_word():
    posterior, occurs = rare_words(0.12)
    names = cluster_names(posterior)
    for k, name in enumerate(names):
        assert name.startswith("mixed: ")
        shares = occurs[posterior.labels == k].mean(axis=0)
        words = re.findall("[a-z]+", name.removeprefix("mixed: "))
        assert max(shares[WORDS.index(word)] for word in words) == shares.max()
    posterior.given_names["clusters"] = {1: "birds"}
    assert cluster_names(posterior)[1] == "birds"


def test_alternatives_are_stored_and_files_without_them_are_read():
    posterior, _ = rare_words(0.4)
    names = cluster_names(posterior)
    tensors, meta = pack_posterior(posterior)
    assert cluster_names(unpack_posterior(tensors, meta)) == names
    del tensors["cluster_content.alternatives"]
    assert not any(" or " in name for name in cluster_names(unpack_posterior(tensors, meta)))


def test_without_a_common_word_the_range_of_a_date_or_number_names_a_cluster():
    posterior, _ = rare_words(0.12)
    rng = np.random.default_rng(0)
    year = np.where(posterior.labels == 0, 1990.0, 2000.0) + np.arange(60) % 5
    contexts = {"year": np.where(posterior.labels == 1, rng.permutation(60) + 1960.0, year)}
    posterior.contexts = mc2.Corpus.from_tokens([["a"]] * 60, contexts).contexts
    name = cluster_names(posterior)[0]
    assert not name.startswith("mixed: ")
    low, high = map(int, name.rpartition("year ")[2].split("–"))
    inside = (contexts["year"] >= low) & (contexts["year"] <= high)
    assert inside[posterior.labels == 0].mean() >= 0.5 > inside.mean()


def test_a_range_of_one_value_is_that_value():
    posterior = make_posterior(n_groups=60, noise=0.0, contexts=False)[0]
    year = np.where(posterior.labels == 0, 1990.0, 2000.0 + np.arange(60))
    posterior.contexts = mc2.Corpus.from_tokens([["a"]] * 60, {"year": year}).contexts
    assert shared_values(posterior)[0].text == "year 1990"


def with_contexts(posterior, **contexts):
    """Return the posterior with other contexts of its groups."""
    posterior.contexts = mc2.Corpus.from_tokens([["a"]] * posterior.n_groups, contexts).contexts
    return posterior


def test_a_range_contains_half_of_the_groups_and_is_the_rarest_that_does():
    """Values around 5 are the closest to each other, but common in other clusters as well."""
    posterior = make_posterior(n_groups=60, noise=0.0, contexts=False)[0]
    inside = posterior.labels == 0
    half = np.arange(inside.sum()) % 2 == 0
    price = np.full(60, 5.0)
    price[inside] = np.where(half, 12345.6 + np.arange(inside.sum()), 5.0)
    found = shared_values(with_contexts(posterior, price=price))[0]
    n = np.arange(inside.sum())[half].max()
    assert found.text == f"price 12,340–{-10 * (-(12345.6 + n) // 10):,.0f}"
    assert found.share >= 0.5 > found.overall
    day = np.datetime64("2020-01-01") + np.where(inside, 0, 40 + np.arange(60)).astype("m8[D]")
    assert shared_values(with_contexts(posterior, day=day))[0].text == "day 2020-01-01"


def test_values_that_are_equally_common_in_all_clusters_are_not_shared():
    posterior = make_posterior(n_groups=60, noise=0.0, contexts=False)[0]
    rank = np.argsort(np.argsort(posterior.labels, kind="stable"), kind="stable")
    place = np.where(rank % 5 == 0, "uk", "usa")
    assert shared_values(with_contexts(posterior, x=rank % 5 * 1.0, place=place)) == [None] * 3


def test_the_ends_of_a_range_do_not_count_as_evidence_for_it():
    """Half of a cluster of two or four groups are in a small range, whatever their values."""
    for size in (1, 2, 4):
        assert not SharedValue("x 1–2", 0.5, 0.1, 2.0 / size).is_clear
    assert SharedValue("x 1–2", 0.5, 0.1, 2.0 / 40).is_clear
    assert not SharedValue("x 1–2", 0.49, 0.1, 2.0 / 40).is_clear


def test_two_values_of_a_bag_tell_clusters_without_common_words_apart():
    posterior, _ = rare_words(0.12)
    on_sale = ["deals" if k == 1 else "full price" for k in posterior.labels]
    shop = ["web" if k < 2 else "store" for k in posterior.labels]
    tags = [list(pair) for pair in zip(on_sale, shop, strict=True)]
    names = cluster_names(with_contexts(posterior, tags=tags))
    assert {*names[1].split(", ")[:2]} == {"deals", "web"}
    assert "store" in names[2].split(", ")


@pytest.mark.parametrize("is_bag", [True, False])
def test_a_cluster_without_common_words_is_named_by_a_value_that_it_lacks(is_bag):
    posterior, _ = rare_words(0.4)
    place = np.where(posterior.labels == 1, np.arange(60) % 7, -1)
    names = [f"place{v}" if v >= 0 else "usa" for v in place]
    names[np.flatnonzero(posterior.labels == 1)[0]] = None  # missing: neither usa nor another value
    with_contexts(posterior, place=[[name] if name else [] for name in names] if is_bag else names)
    found = cluster_names(posterior)
    assert found[1].endswith(", place: not usa")
    assert not any("not usa" in found[k] for k in (0, 2))
    n_others = (posterior.labels == 1).sum() - 1
    assert shared_values(posterior)[1].share == n_others / (posterior.labels == 1).sum()


def test_a_range_that_describes_a_cluster_better_than_its_words_ends_its_name():
    posterior, _ = rare_words(0.75)
    assert "year" not in cluster_names(posterior)[2]
    year = np.where(posterior.labels == 2, 1950.0, 1990.0) + np.arange(60) % 20
    name = cluster_names(with_contexts(posterior, year=year))[2]
    first, *_, years = name.split(", ")
    low, high = map(int, years.removeprefix("year ").split("–"))
    in_range = (year >= low) & (year <= high)
    assert in_range[posterior.labels == 2].mean() >= 0.5 > in_range.mean()
    assert first in WORDS


def test_a_range_that_describes_a_cluster_better_than_its_value_ends_its_name():
    posterior, _ = rare_words(0.12)
    is_last = posterior.labels == 2
    place = np.where(is_last | (np.arange(60) % 2 == 0), "usa", "uk")
    assert cluster_names(with_contexts(posterior, place=place))[2].startswith("usa")
    year = 1950.0 + np.arange(60) % 20
    assert "year" not in cluster_names(with_contexts(posterior, place=place, year=year))[2]
    year[is_last] = 1990.0
    name = cluster_names(with_contexts(posterior, place=place, year=year))[2]
    first, *_, last = name.split(", ")
    assert (first, last) == ("usa", "year 1990")


def test_a_range_tells_clusters_with_the_same_best_word_apart():
    found = SharedValue("year 1990", 0.6, 0.3, 0.1)
    assert last_phrase(found, gain=1.0, has_value_only=False, is_repeated=False) == ""
    assert last_phrase(found, gain=1.0, has_value_only=False, is_repeated=True) == "year 1990"
    absent = SharedValue("place: not usa", 0.6, 0.3)
    assert last_phrase(absent, gain=1.0, has_value_only=False, is_repeated=True) == ""
    assert last_phrase(absent, gain=0.1, has_value_only=False, is_repeated=False) == absent.text
    assert last_phrase(absent, gain=0.1, has_value_only=True, is_repeated=False) == ""


def test_a_value_of_most_groups_names_a_cluster_without_a_common_word():
    """Even if most groups of all clusters have it."""
    counts = np.array([[20, 20], [20, 20]])
    assert _majority_values(counts, np.array([30, 24]), ["usa", "uk"], 0.0) == [["usa"], ["usa"]]
    assert _majority_values(counts, np.array([30, 24]), ["usa", "uk"], 1.2) == [[], []]
    assert _majority_values(counts, np.array([50, 24]), ["usa", "uk"], 0.0) == [[], ["usa"]]


def test_topic_shares_of_a_cluster_are_those_of_its_own_groups(long_group):
    """The words of topic m are 3m, 3m + 1 and 3m + 2."""
    posterior, _ = long_group
    _, corpus, _ = make_posterior(n_groups=60, noise=0.0, contexts=False)
    posterior = make_posterior(n_groups=60, noise=0.0, contexts=False)[0]
    posterior.attach_content(corpus)
    topic_of_word = posterior.components.argmax(axis=0)
    for k in range(posterior.n_clusters):
        words = corpus.content.counts[posterior.labels == k].sum(axis=0)
        tokens = np.bincount(topic_of_word, np.ravel(words), minlength=posterior.n_topics)
        np.testing.assert_allclose(posterior.token_shares[k], tokens / tokens.sum(), atol=0.02)


def test_names_are_unique_and_start_with_different_words():
    same = ["war", "peace", "treaty", "border", "army"]
    names = _unique([same, same, same, ["war"], ["war"], [], []], {})
    assert names[:3] == ["war, peace, treaty", "peace, war, border", "treaty, war, border"]
    assert names[3:] == ["war", "war (2)", "", ""]
    assert _unique([same, same[::-1]], {}, ["a: b", ""]) == [
        "war, peace, a: b",
        "army, border, treaty",
    ]
    assert _unique([same, same], {1: "conflict"}) == ["war, peace, treaty", "conflict"]


def test_clusters_and_topics_have_names_in_tables(long_group):
    posterior, _ = long_group
    assert posterior.clusters()["name"].tolist() == cluster_names(posterior)
    assert posterior.topics()["name"].tolist() == topic_names(posterior)
