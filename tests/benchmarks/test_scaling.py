"""The cost model, on known costs; nothing is timed."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import cluster_model, predictions
from benchmarks.cost import STEPS, Sizes, fit_costs, n_chunks, predict
from benchmarks.engines import FINITE, INFINITE
from benchmarks.questions import scaling
from benchmarks.settings import Settings
from benchmarks.sized import Size, sized_corpus
from benchmarks.steps import timed_steps
from mcsquared.distributed.wire import n_bytes_of, pack_array

ENGINES = pytest.mark.parametrize("engine", [INFINITE, FINITE])
SMALL = Size(150, 20, 120, 20, 16, 7)
PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"


def random_sizes(rng: np.random.Generator) -> Sizes:
    tokens = rng.integers(10_000, 1_000_000)
    return Sizes(
        groups=int(rng.integers(50, 5_000)),
        tokens=int(tokens),
        entries=int(tokens * rng.uniform(0.2, 0.9)),
        words=int(rng.integers(500, 50_000)),
        clusters=int(rng.integers(1, 12) * 16),
        topics=int(rng.integers(1, 12) * 16),
        categories=int(rng.integers(0, 1_000)),
    )


def test_a_term_is_a_product_of_sizes() -> None:
    sizes = Sizes(groups=2, tokens=30, entries=20, words=5, clusters=4, topics=7, categories=11)
    assert sizes.product("V·K·M") == 5 * 4 * 7
    assert sizes.product("1") == 1
    assert sizes.cells == 10  # of 20 pairs for 20 entries
    assert replace(sizes, entries=1e9).cells == pytest.approx(20)


@ENGINES
def test_true_costs_are_recovered(engine: str) -> None:
    rng = np.random.default_rng(0)
    true = {
        step: {term: float(rng.uniform(1e-9, 2e-8)) for term in terms}
        for step, terms in STEPS[engine].items()
    }
    true["rest"]["1"] = 2e-3
    timed = []
    for _ in range(40):
        sizes = random_sizes(rng)
        timed.append((sizes, {step: predict({step: true[step]}, sizes) for step in true}))
    fitted = fit_costs(engine, timed)
    other = random_sizes(rng)
    assert predict(fitted, other) == pytest.approx(predict(true, other), rel=1e-6)


@ENGINES
def test_no_cost_is_negative(engine: str) -> None:
    rng = np.random.default_rng(1)
    timed = [
        (random_sizes(rng), {step: float(rng.exponential()) for step in STEPS[engine]})
        for _ in range(12)
    ]
    fitted = fit_costs(engine, timed)
    assert all(cost > 0.0 for terms in fitted.values() for cost in terms.values())


def test_packed_counts_have_the_bytes_that_are_predicted_from_their_tokens() -> None:
    rng = np.random.default_rng(0)
    cells, tokens = 200_000, 400_000
    scale, power = cluster_model.WORD_TOPICS
    share = -np.expm1(-scale * (tokens / cells) ** power)
    counts = np.where(rng.random(cells) < share, rng.poisson(tokens / cells / share, cells), 0)
    found = n_bytes_of(pack_array(counts.astype(np.int32)))
    predicted = cluster_model.packed_bytes(cells, tokens, cluster_model.WORD_TOPICS)
    assert predicted == pytest.approx(found, rel=0.05)


def test_messages_follow_each_other_along_the_tree() -> None:
    # The client sends to the first worker, and that one to four others, one after another.
    assert [cluster_model.n_sequential_messages(n) for n in (1, 2, 5, 6, 21)] == [1, 2, 5, 6, 9]


def test_a_sized_corpus_has_its_size() -> None:
    corpus = sized_corpus(SMALL, seed=3)
    assert (corpus.n_groups, corpus.n_words) == (150, 120)
    assert 0.7 < corpus.n_tokens / (150 * 20) < 1.5
    assert set(corpus.contexts) == {"year", "place"}
    repeats = corpus.n_tokens / corpus.content.counts.nnz
    assert repeats > 1.2, "words are repeated in groups, as in texts"


def test_timed_functions_are_restored() -> None:
    from mcsquared.samplers.content import groups

    before = groups.sum_by_cluster
    with timed_steps() as seconds:
        assert groups.sum_by_cluster is not before
        assert seconds == {}
    assert groups.sum_by_cluster is before


def test_every_data_set_is_predicted_and_missing_ones_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scaling, "SIZES", (SMALL, replace(SMALL, n_groups=200, n_words=300)))
    monkeypatch.setattr(scaling, "LARGE", replace(SMALL, n_groups=300))
    settings = replace(Settings(), simulated=True, growth_warm_up=1, scaling_sweeps=2)
    result = scaling.run(settings)
    assert all(len(row) == len(result.columns) for row in result.rows)
    assert len(result.rows) == 6
    assert len(result.targets) == 2
    assert sum("was skipped" in note or "were skipped" in note for note in result.notes) == 3
    row = dict(zip(result.columns, result.rows[1], strict=True))
    steps = sum(row[step] for step in STEPS[FINITE])
    assert steps == pytest.approx(row["CPU-s"], rel=0.5)  # both are medians, of two sweeps
    again = scaling.costs_of(json.loads(json.dumps(result.rows)))
    engine = {"∞": INFINITE, "finite": FINITE}[row["λ"]]
    assert predict(again[engine], scaling.sizes_of(result.rows[1])) == row["predicted"]


@ENGINES
def test_more_workers_do_less_work_each_and_cause_more_traffic(engine: str) -> None:
    costs = {step: dict.fromkeys(terms, 1e-9) for step, terms in STEPS[engine].items()}
    few, many = (
        predictions.seconds_on_cluster(engine, costs, predictions.BILLION, workers)
        for workers in (16, 1024)
    )
    assert many["workers"] < few["workers"]
    # Along a tree: 64 times as many workers have less than four times as many messages in turn.
    assert few["network"] < many["network"] < 4 * few["network"]


def test_workers_without_a_chunk_are_idle() -> None:
    costs = {step: dict.fromkeys(terms, 1e-9) for step, terms in STEPS[FINITE].items()}
    most = n_chunks(predictions.PUBMED)
    assert most < 1024
    as_many, more = (
        predictions.seconds_on_cluster(FINITE, costs, predictions.PUBMED, workers)
        for workers in (most, 1024)
    )
    assert as_many == more


def test_cores_share_all_steps_except_the_rest() -> None:
    costs = {step: {"N": 1e-9} for step in STEPS[FINITE]}
    one, many = (
        predictions.seconds_on_cores(costs, predictions.PUBMED, cores) for cores in (1, 1_000_000)
    )
    assert one == pytest.approx(5 * 0.73)
    assert many == pytest.approx(0.73, rel=1e-3)


def test_costs_of_a_gpu_agree_with_two_measurements_and_include_copies() -> None:
    measured = {
        (name, FINITE): (Sizes(0, tokens, 0, 0, 0, 100), seconds)
        for name, tokens, seconds in zip(
            predictions.FITTED_SETS, (1e6, 5e6), (0.002, 0.004), strict=True
        )
    }
    device = predictions.fit_device(FINITE, measured)
    assert device.fixed == pytest.approx(0.0015)
    fits, does_not = (Sizes(0, tokens, 0, 0, 0, 100) for tokens in (1e10, 1e12))
    assert predictions.seconds_on_device(FINITE, device, fits) == pytest.approx(5.0015)
    copying = 8 * 1e12 / predictions.BUS_BANDWIDTH
    assert predictions.seconds_on_device(FINITE, device, does_not) == pytest.approx(
        500.0015 + copying
    )


def test_the_page_has_the_committed_figures() -> None:
    results = json.loads(predictions.RESULTS.read_text(encoding="utf-8"))["results"]
    text = PAGE.read_text(encoding="utf-8")
    assert predictions.update_tables(text, results) == text, "python -m benchmarks.predictions"
    without = {name: results[name] for name in results if name != "device"}
    assert predictions.update_tables("as it is", without) == "as it is"
