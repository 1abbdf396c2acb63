"""Fits with levels above groups: results, predictions, files and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import mcsquared as mc2
from mcsquared.errors import InputError, ModelFileError
from mcsquared.prediction.groups import known_and_new_probabilities, weighted_joints
from mcsquared.prediction.levels import average_clusters, mean_rows, root_weights
from mcsquared.storage import read_file, write_file
from tests.samplers.leveled_cases import simulated, two_levels_above
from tests.statistics.corpora import Integrated

QUICK = {"n_sweeps": 12, "burn_in": 8, "thin": 1, "random_state": 0, "progress": False}


@pytest.fixture(scope="module")
def truth():
    return simulated()


@pytest.fixture(scope="module")
def model(truth):
    settings = {"n_sweeps": 80, "burn_in": 40, "thin": 2, "random_state": 0, "progress": False}
    return mc2.MC2(**settings).fit(truth[0])


@pytest.fixture(scope="module")
def nested():
    return mc2.MC2(**QUICK).fit(two_levels_above())


def test_simulated_types_and_clusters_are_found(model, truth):
    _, types, clusters = truth
    level = model.posterior_.level("unit")
    assert adjusted_rand_score(types, level.labels) > 0.9
    assert adjusted_rand_score(clusters, model.labels_) > 0.9


def test_a_level_answers_the_queries_of_a_posterior(nested):
    country = nested.posterior_.level("country")
    assert country.group_names.tolist() == ["F", "G", "H", "I"]
    assert country.clusters()["n_groups"].sum() == 4
    assert country.context_given_cluster("region").sum().round(6).eq(1.0).all()
    assert country.coclustering().to_dense(range(4)).shape == (4, 4)
    assert set(country.diagnostics()["scalar"]) >= {"n_clusters", "alpha", "v"}
    assert country.trace["n_topics"].tolist() == (
        nested.posterior_.level("city").trace["n_clusters"].tolist()
    )
    assert country.consensus("binder").shape == (4,)
    assert nested.posterior_.level("city") is nested.posterior_.level("city")


def test_shares_of_clusters_in_types_agree_with_those_of_the_groups(model):
    shares = model.posterior_.cluster_given_type("unit")
    children = model.posterior_.children("unit")
    counted = pd.crosstab(children["type"], children["cluster"], normalize="index")
    assert np.abs(shares.to_numpy() - counted.to_numpy()).max() < 0.1
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_children_of_units_are_listed_by_unit(nested):
    corpus = two_levels_above()
    cities = nested.posterior_.children("city")
    assert len(cities) == (corpus.levels[0].parent_of_child >= 0).sum()
    countries = nested.posterior_.children("country")
    assert countries["unit"].tolist() == sorted(countries["unit"])
    assert "city 5" not in set(countries["name"])  # it has no country


def test_a_level_that_does_not_exist_is_named_in_the_error(model):
    with pytest.raises(InputError, match=r"a level of this model \('unit'\), got 'city'"):
        model.posterior_.level("city")


def empty_groups(names, levels=("unit",)):
    """Groups without content in the named units."""
    frame = pd.DataFrame({f"word {w}": np.zeros(len(names), int) for w in range(40)})
    content = list(frame.columns)
    frame["unit"] = names
    return mc2.Corpus.from_frame(frame, content=content, levels=list(levels))


def mean_over_draws(model, row_of_draw):
    """Probabilities of consensus clusters, and of a new one, for a row of each draw."""
    posterior = model.posterior_
    total, new = np.zeros(posterior.n_clusters), 0.0
    for draw in posterior.parameters:
        row = row_of_draw(draw)
        labels = posterior.cluster_of_group[draw.index]
        share = sparse.coo_matrix((np.ones(len(labels)), (labels, posterior.labels))).toarray()
        share /= share.sum(axis=1, keepdims=True)
        total += row[:-1] @ share
        new += row[-1]
    return total / total.sum(), new / len(posterior.parameters)


def test_a_group_of_a_known_unit_has_the_weights_of_its_type(model):
    names = model.posterior_.units[0].unit_names[:2].tolist()
    new = empty_groups([*names, "never seen"])
    for u in range(2):
        types = model.posterior_.units[0].type_of_unit[:, u]
        expected, chance = mean_over_draws(model, lambda d, t=types: mean_rows(d, 0)[t[d.index]])
        np.testing.assert_allclose(model.predict_proba(new)[u], expected, atol=1e-9)
        np.testing.assert_allclose(model.predict_new_proba(new)[u], chance, atol=1e-9)


def test_a_group_of_an_unknown_unit_has_the_mean_weights_of_types(model):
    expected, _ = mean_over_draws(model, lambda d: average_clusters(model.posterior_, d))
    new = empty_groups(["never seen", "u001"])
    np.testing.assert_allclose(model.predict_proba(new)[0], expected, atol=1e-9)
    without = mc2.Corpus(np.zeros((1, 40), int), vocabulary=[f"word {w}" for w in range(40)])
    np.testing.assert_allclose(model.predict_proba(without)[0], expected, atol=1e-9)


def test_a_group_without_a_unit_has_the_weights_at_the_root(model):
    expected, _ = mean_over_draws(model, lambda d: root_weights(d, 0))
    new = empty_groups([None, "u001"])
    np.testing.assert_allclose(model.predict_proba(new)[0], expected, atol=1e-9)


def test_the_unit_of_a_new_group_is_predicted_by_bayes_rule(model, truth):
    corpus, posterior = truth[0][:15], model.posterior_
    table = model.predict_context(corpus, "unit", top=30)
    total = table.groupby("group", sort=False)["probability"].sum()
    np.testing.assert_allclose(total, 1.0)
    units = posterior.units[0]
    n_groups = np.bincount(units.parent_of_child)
    expected = np.zeros((15, len(n_groups)))
    without = mc2.Corpus(corpus.content.counts, vocabulary=corpus.vocabulary)
    for _, draw, joint in weighted_joints(posterior, without):
        at = known_and_new_probabilities(joint, draw.n_clusters)
        likelihood = at / average_clusters(posterior, draw)
        rows = mean_rows(draw, 0)[units.type_of_unit[draw.index]]
        chance = n_groups * (likelihood @ rows.T)
        expected += chance / chance.sum(axis=1, keepdims=True) / len(posterior.parameters)
    first = dict(zip(table["value"][:30], table["probability"][:30], strict=True))
    np.testing.assert_allclose([first[name] for name in units.unit_names], expected[0], rtol=1e-6)
    types = posterior.level("unit").labels
    best = table[table["rank"] == 1]["value"].to_numpy()
    found = [types[list(units.unit_names).index(name)] for name in best]
    assert np.mean(np.array(found) == types[corpus_units(truth[0])[:15]]) > 0.6


def corpus_units(corpus):
    return corpus.levels[0].parent_of_child


def test_a_context_of_a_level_is_named_with_its_level_in_the_error(nested):
    message = r"got 'region', a context of the level 'country': see Posterior.level"
    with pytest.raises(InputError, match=message):
        nested.posterior_.context_given_cluster("region")


def test_the_country_of_a_group_is_predicted_through_its_cities(nested):
    table = nested.predict_context(two_levels_above()[:6], "country", top=2)
    assert set(table["value"]) <= set("FGHI")
    assert len(table) == 12


def test_contexts_of_new_groups_are_used_at_the_level_of_the_model(nested):
    """Columns of few groups are constant within units by chance."""
    corpus = two_levels_above()
    few = corpus[[0, 12, 13]]
    probability = nested.predict_proba(few)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    moved = few.with_contexts({"kind": few.contexts["kind"]})
    city = few.levels[0]
    year = few.contexts["year"][np.unique(city.parent_of_child, return_index=True)[1]]
    moved.levels = (
        mc2.corpus.Level("city", city.unit_names, {"year": year}, city.parent_of_child),
    )
    assert moved.contexts.keys() == {"kind"}
    assert nested.predict_proba(moved).shape == probability.shape


def test_new_cities_are_predicted_from_their_country_and_their_contexts(nested):
    frame = pd.DataFrame({"w": [0, 0], "city": ["x", "y"], "country": ["F", "never seen"]})
    sizes = pd.DataFrame({"city": ["x", "y"], "size": [1.0, None]})
    levels, above = ["city", "country"], {"city": sizes}
    corpus = mc2.Corpus.from_frame(frame, content=["w"], levels=levels, level_contexts=above)
    new = mc2.Corpus(np.zeros((2, 30), int))
    new.levels = corpus.levels
    np.testing.assert_allclose(nested.predict_proba(new).sum(axis=1), 1.0)


def test_a_saved_model_has_the_same_levels(nested, tmp_path):
    nested.posterior_.level("city").set_names("clusters", {0: "ports"})
    nested.save(tmp_path / "nested.mc2")
    loaded = mc2.MC2.load(tmp_path / "nested.mc2")
    for name in ("city", "country"):
        one, other = nested.posterior_.level(name), loaded.posterior_.level(name)
        pd.testing.assert_frame_equal(one.clusters(), other.clusters())
        pd.testing.assert_frame_equal(one.trace, other.trace)
    assert loaded.posterior_.level("city").clusters()["name"][0] == "ports"
    new = two_levels_above()[:9]
    np.testing.assert_array_equal(nested.predict_proba(new), loaded.predict_proba(new))


def test_a_file_whose_types_are_not_those_of_its_units_is_refused(nested, tmp_path):
    nested.save(tmp_path / "model")
    tensors, meta = read_file(tmp_path / "model", "model")
    types = tensors["units.1.type_of_unit"]
    types[:] = (types + 1) % types.shape[1]
    write_file(tmp_path / "model", "model", tensors, meta)
    with pytest.raises(ModelFileError, match="types of the level 'country' are not those of its"):
        mc2.MC2.load(tmp_path / "model")


def test_draws_are_the_same_on_two_threads_and_after_resuming(tmp_path):
    corpus, settings = two_levels_above(), QUICK | {"n_chains": 2}
    once = mc2.MC2(**settings, n_jobs=2).fit(corpus).posterior_
    path = tmp_path / "run.checkpoint"
    stopping = mc2.MC2(**settings, checkpoint=path, callbacks=[lambda info: info.sweep == 7])
    with pytest.raises(InputError, match="a callback stopped the run"):
        stopping.fit(corpus)
    resumed = mc2.MC2(**settings, checkpoint=path).fit(corpus).posterior_
    for units, same in zip(once.units, resumed.units, strict=True):
        np.testing.assert_array_equal(units.type_of_unit, same.type_of_unit)
        np.testing.assert_array_equal(units.trace, same.trace)
    np.testing.assert_array_equal(once.cluster_of_group, resumed.cluster_of_group)
    np.testing.assert_array_equal(once.trace["log_joint"], resumed.trace["log_joint"])


def test_a_checkpoint_of_other_levels_is_refused(tmp_path):
    corpus, path = two_levels_above(), tmp_path / "run.checkpoint"
    mc2.MC2(**QUICK, checkpoint=path).fit(corpus)
    corpus.levels = corpus.levels[:1]
    with pytest.raises(ModelFileError, match="was written for another corpus"):
        mc2.MC2(**QUICK, checkpoint=path).fit(corpus)


class User(Integrated):
    """A family whose parameters are integrated out."""


REFUSED = [
    ({"sampler": "collapsed", "lam": np.inf}, "sampler must be 'blocked' for a corpus with levels"),
    ({"effects": ("kind",)}, "effects must be empty for a corpus with levels above groups"),
    ({"contexts": {"size": User(1.0, 1.0)}}, "contexts of a level require families with sample"),
    (
        {"contexts": {"year": User(1.0, 1.0)}},
        "a corpus with levels above groups requires families",
    ),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED)
def test_what_levels_cannot_be_combined_with_is_refused(settings, message):
    corpus = two_levels_above()
    if "year" in settings.get("contexts", {}):
        corpus = corpus.with_contexts({"year": np.arange(80)})
    with pytest.raises(InputError, match=message):
        mc2.MC2(**(QUICK | settings)).fit(corpus)


def test_contexts_of_levels_may_be_chosen_by_name():
    chosen = mc2.MC2(**QUICK, contexts={"size": "gaussian", "year": "gaussian"})
    posterior = chosen.fit(two_levels_above()).posterior_
    assert list(posterior.contexts) == ["year"]
    assert [list(units.contexts) for units in posterior.units] == [["size"], []]


def test_predictions_are_computed_again_for_other_units():
    """Names of levels and categories of their contexts are not in the arrays of a corpus."""
    rng = np.random.default_rng(0)
    rates = np.kron(np.eye(2), np.full(10, 3.0)) + 0.1
    groups = {"country": [f"c{number % 24}" for number in range(96)]}
    regions = pd.DataFrame({"region": ["n", "s"] * 12}, [f"c{number}" for number in range(24)])
    corpus = mc2.Corpus(rng.poisson(rates[np.arange(96) % 2]), groups)
    settings = {"n_sweeps": 60, "burn_in": 20, "random_state": 0, "progress": False}
    model = mc2.MC2(**settings).fit(corpus.with_levels("country", {"country": regions}))

    def empty_group(unit, level="country", region=None):
        group = mc2.Corpus(np.zeros((1, 20), int), {level: [unit]})
        above = {} if region is None else {level: pd.DataFrame({"region": [region]}, [unit])}
        return model.predict_proba(group.with_levels(level, above))[0]

    north, south = (empty_group("new", region=region) for region in ("n", "s"))
    assert abs(north - south).max() > 0.3
    in_country, in_state = empty_group("c0"), empty_group("c0", level="state")
    assert abs(in_country - in_state).max() > 0.1
