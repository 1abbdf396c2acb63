"""Cases of the golden runs: every kind of content, λ, sampler, family and backend."""

import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import gammaln

import mcsquared as mc2

SCHEDULE = {"n_sweeps": 30, "burn_in": 10, "thin": 4, "random_state": 7, "progress": False}
VARYING = {"lam": mc2.Gamma(1, 0.1)}
PAPER = {"lam": np.inf}
N_GROUPS = 120


@dataclass(frozen=True)
class Visits(mc2.ConjugateFamily):
    """A family of the user's own, parameters integrated out."""

    n_stats = 2

    def statistics(self, x):
        x = np.asarray(x, float)
        return np.stack([np.ones_like(x), x], axis=-1)

    def log_normaliser(self, stats):
        shape, rate = 1.5 + stats[..., 1], 0.4 + stats[..., 0]
        return gammaln(shape) - shape * np.log(rate)

    def log_base(self, x):
        return -gammaln(np.asarray(x, float) + 1)


@dataclass(frozen=True)
class DrawnVisits(Visits):
    """The same family, which also draws its parameters."""

    def sample_parameters(self, stats, rng):
        return rng.gamma(1.5 + stats[..., 1], 1.0 / (0.4 + stats[..., 0]))[..., None]

    def log_likelihood(self, x, parameters):
        x = np.asarray(x, float)[:, None]
        rate = parameters[..., 0][None, :]
        return x * np.log(rate) - rate - gammaln(x + 1)


def contexts(n=N_GROUPS):
    """Columns of every type, with missing values."""
    import pandas as pd

    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "year": np.where(rng.random(n) < 0.2, np.nan, 1990 + 10 * rng.normal(size=n)),
            "date": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "place": [None if u < 0.1 else "abcde"[int(5 * u)] for u in rng.random(n)],
            "tags": [["x", "y", "z", "w"][: rng.integers(0, 4)] for _ in range(n)],
            "seen": rng.random(n) < 0.4,
            "cites": rng.poisson(4.0, n).astype(float),
        }
    )
    frame.loc[5, "date"] = pd.NaT
    frame.loc[min(9, n - 1), "cites"] = np.nan
    columns = {name: frame[name] for name in frame}
    spot = rng.normal(size=(n, 2))
    spot[4] = np.nan
    columns["spot"] = spot
    return columns


FAMILIES = {
    "year": "gaussian",
    "date": "gaussian",
    "place": "categorical",
    "tags": "bag",
    "seen": "bernoulli",
    "cites": "poisson",
    "spot": "multivariate_gaussian",
}


def words(n_words=80, tokens=60, n=N_GROUPS):
    drawn = mc2.datasets.simulate(
        n, tokens_per_group=tokens, n_words=n_words, lam=10.0, alpha=3.0, random_state=1
    )
    return mc2.Corpus(drawn.corpus.content.counts, contexts=contexts(n))


def points(width, n=N_GROUPS):
    rng = np.random.default_rng(8)
    centres = 4 * rng.normal(size=(5, width))
    rows = []
    for j in range(n):
        topic = rng.choice(
            5, size=rng.integers(0, 14), p=rng.dirichlet(np.roll([6, 3, 1, 1, 1], j % 3))
        )
        rows.append(centres[topic] + rng.normal(size=(len(topic), width)))
    return rows


def results(model, corpus=None, **more):
    """Return labels, trace and stored arrays of a fit, and predictions for ``corpus``."""
    from safetensors.numpy import load_file

    posterior = model.posterior_
    found = {"labels": model.labels_, "components": model.components_}
    for name in posterior.trace:
        if name != "seconds":
            found[f"trace {name}"] = posterior.trace[name].to_numpy()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.mc2"
        model.save(path)
        for name, array in load_file(path).items():
            if "seconds" not in name:
                found[f"stored {name}"] = array
    if corpus is not None:
        found["predict_proba"] = model.predict_proba(corpus)
        found["transform"] = model.transform(corpus)
        found["perplexity"] = np.array(model.perplexity(corpus, method="completion"))
        for name in posterior.contexts:
            answer = model.predict_context(corpus[:20], name)
            found[f"predict_context {name}"] = answer.to_numpy(dtype=object).astype(str)
    return found | {name: np.asarray(value) for name, value in more.items()}


def fit(corpus, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mc2.MC2(**(SCHEDULE | options)).fit(corpus)


def words_varying():
    corpus = words()
    return results(fit(corpus, contexts=FAMILIES, n_jobs=2, n_chains=2, **VARYING), corpus)


def words_fixed_lam_bounded():
    corpus = words()
    return results(fit(corpus, lam=5.0, max_topics=9, max_clusters=6, v=2.0), corpus)


def words_paper():
    """λ = ∞ with collapsed sweeps in between: few tokens."""
    corpus = words()
    model = fit(corpus, contexts=FAMILIES, **PAPER)
    return results(model, corpus, exact=model.perplexity(corpus, method="exact"))


def words_paper_many():
    """λ = ∞ with too many tokens for collapsed sweeps."""
    corpus = words(n_words=400, tokens=900)
    return results(fit(corpus, n_sweeps=16, n_jobs=2, **PAPER), corpus)


def words_many_topics():
    """More topic slots than the dense token kernel takes."""
    corpus = words(n_words=300, tokens=200)
    return results(fit(corpus, n_sweeps=14, eta=900.0, v=400.0, **VARYING), corpus)


def words_collapsed():
    corpus = words()
    return results(fit(corpus, contexts=FAMILIES, sampler="collapsed", **PAPER), corpus)


def words_random_start():
    return results(fit(words(), init="random", contexts={}, **VARYING))


def words_large_start():
    """More groups than the start of a chain uses."""
    drawn = mc2.datasets.simulate(21_000, tokens_per_group=6, n_words=50, lam=10.0, random_state=2)
    return results(fit(drawn.corpus, n_sweeps=12, burn_in=4, n_jobs=2, **VARYING))


def points_paper():
    corpus = mc2.Corpus(points(3), contexts=contexts())
    return results(fit(corpus, contexts=FAMILIES, **PAPER), corpus)


def points_varying():
    corpus = mc2.Corpus(points(3), contexts=contexts())
    return results(fit(corpus, contexts=FAMILIES, n_jobs=2, **VARYING), corpus)


def numbers_varying():
    return results(fit(mc2.Corpus(points(1), contexts=contexts()), content="gaussian", **VARYING))


def points_collapsed():
    corpus = mc2.Corpus(points(2), contexts=contexts())
    return results(fit(corpus, sampler="collapsed", **PAPER), corpus)


def counts_content():
    rng = np.random.default_rng(4)
    rows = [rng.poisson(2 + 10 * (j % 3), (8, 1)).astype(float) for j in range(60)]
    found = {}
    for content in ("poisson", Visits(), DrawnVisits()):
        for lam in (np.inf, 4.0):
            name = f"{content if isinstance(content, str) else type(content).__name__} {lam}"
            options = {"content": content, "lam": lam, "n_sweeps": 20}
            if not isinstance(content, str):
                options["contexts"] = {"cites": content, "year": "gaussian"}
            corpus = mc2.Corpus(rows, contexts=contexts(60))
            model = fit(corpus, **options)
            found[f"{name} labels"] = model.posterior_.cluster_of_group
            found[f"{name} joint"] = model.posterior_.trace["log_joint"].to_numpy()
    model = fit(
        mc2.Corpus(rows, contexts=contexts(60)), content=Visits(), sampler="collapsed", lam=np.inf
    )
    found["collapsed joint"] = model.posterior_.trace["log_joint"].to_numpy()
    return found


def texts_from_csv():
    """From a file through the command line to a model file."""
    import pandas as pd
    from safetensors.numpy import load_file
    from typer.testing import CliRunner

    from mcsquared.cli.app import app

    rng = np.random.default_rng(0)
    themes = ["ant bee hive honey wing", "car van road wheel motor", "sea fish wave sail boat"]
    rows = []
    for j in range(90):
        vocabulary = (themes[j % 3] + " the and of").split()
        rows.append(
            {
                "text": " ".join(rng.choice(vocabulary, 30)),
                "year": 1990 + j % 20 if j % 9 else None,
                "when": f"20{10 + j % 9}-0{1 + j % 8}-11",
                "who": ";".join(rng.choice(["ann", "bob", "cid"], 1 + j % 2, replace=False)),
            }
        )
    with tempfile.TemporaryDirectory() as folder:
        data, out, predicted = (Path(folder) / name for name in ("a.csv", "a.mc2", "b.csv"))
        pd.DataFrame(rows).to_csv(data, index=False)
        options = [
            "--text",
            "text",
            "--context",
            "year",
            "--context",
            "when",
            "--context",
            "who:bag",
        ]
        fit_options = ["--out", str(out), "--sweeps", "20", "--burn-in", "8", "--seed", "3"]
        result = CliRunner().invoke(app, ["fit", str(data), *options, *fit_options])
        assert result.exit_code == 0, result.output
        result = CliRunner().invoke(app, ["predict", str(out), str(data), "--out", str(predicted)])
        assert result.exit_code == 0, result.output
        found = {k: v for k, v in load_file(out).items() if "seconds" not in k}
        return found | {"predictions": np.array(predicted.read_text())}


def frame_of_groups():
    import pandas as pd

    columns = contexts(240)
    frame = pd.DataFrame(
        {name: columns[name] for name in ("year", "date", "place", "tags", "seen")}
    )
    rows = words(n=240, tokens=30).content.counts
    frame["tokens"] = [[f"w{w:02}" for w in np.repeat(r.indices, r.data)] for r in rows]
    return frame


def parquet(folder):
    frame = frame_of_groups()
    for number in range(4):
        frame[number * 60 : (number + 1) * 60].to_parquet(Path(folder) / f"part-{number}.parquet")
    return mc2.ParquetFolder(folder)


def parquet_in_memory():
    with tempfile.TemporaryDirectory() as folder:
        return results(fit(parquet(folder), **VARYING))


def parquet_on_disk():
    """Five shards read from disk, some groups kept in memory."""
    from tests.golden import disk

    found = {}
    for name, options in {"varying": VARYING, "paper": PAPER}.items():
        for n_kept in (60, 10**9):
            with tempfile.TemporaryDirectory() as folder, disk.on_disk(5, n_kept):
                source = parquet(folder)
                for key, value in results(fit(source, **options)).items():
                    found[f"{name} {n_kept} {key}"] = value
    return found


def vectors_on_dask():
    return _on_dask(mc2.Corpus(points(2), contexts=contexts()), [PAPER, VARYING])


def words_on_dask():
    return _on_dask(words(), [PAPER, VARYING])


def _on_dask(corpus, settings):
    from distributed import Client

    found = {}
    with Client(n_workers=2, processes=False, dashboard_address=None) as client:
        for number, options in enumerate(settings):
            model = mc2.MC2(**(SCHEDULE | options))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                mc2.distributed.fit(model, corpus, client=client)
            for key, value in results(model).items():
                found[f"{number} {key}"] = value
    return found


def _simulated(rows, settings):
    """Fits on a simulated GPU, with as few groups, sweeps and slots as possible."""
    from tests.golden import simulator

    options = {"n_sweeps": 3, "burn_in": 1, "thin": 1, "device": "cuda"}
    options |= {"init": "random", "max_clusters": 4, "max_topics": 16}
    chosen = {name: FAMILIES[name] for name in ("year", "place", "tags", "spot")}
    corpus = mc2.Corpus(rows, contexts=contexts(8))
    found = {}
    with simulator.one_thread_at_a_time():
        for number, setting in enumerate(settings):
            for key, value in results(fit(corpus, contexts=chosen, **options, **setting)).items():
                found[f"{number} {key}"] = value
    return found


def words_in_cuda_simulator():
    counts = words(n_words=6, tokens=5, n=8).content.counts
    return _simulated(counts, [PAPER, VARYING])


def vectors_in_cuda_simulator():
    return _simulated([row[:3] for row in points(2, n=8)], [PAPER, VARYING])


def resumed():
    """A warm start and a checkpoint continue a run."""
    corpus = words()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "run.checkpoint")
        first = results(fit(corpus, checkpoint=path, **VARYING))
        model = mc2.MC2(warm_start=True, **(SCHEDULE | VARYING)).fit(corpus)
        second = results(model.fit(corpus))
    return {f"0 {k}": v for k, v in first.items()} | {f"1 {k}": v for k, v in second.items()}


def baselines():
    corpus = words()
    found = {}
    hdp = mc2.baselines.HDP(n_sweeps=20, burn_in=8, random_state=0).fit(corpus)
    found["hdp"] = hdp.transform(corpus)
    nptot = mc2.baselines.NPTOT(n_sweeps=12, burn_in=4, random_state=0).fit(corpus)
    found["nptot"] = nptot.transform(corpus)
    return found


SIMULATED = ("words_in_cuda_simulator", "vectors_in_cuda_simulator")
CASES = {
    case.__name__: case
    for case in (
        words_varying,
        words_fixed_lam_bounded,
        words_paper,
        words_paper_many,
        words_many_topics,
        words_collapsed,
        words_random_start,
        words_large_start,
        points_paper,
        points_varying,
        numbers_varying,
        points_collapsed,
        counts_content,
        texts_from_csv,
        parquet_in_memory,
        parquet_on_disk,
        words_on_dask,
        vectors_on_dask,
        words_in_cuda_simulator,
        vectors_in_cuda_simulator,
        resumed,
        baselines,
    )
}
