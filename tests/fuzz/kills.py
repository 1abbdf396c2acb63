"""Runs that are killed and terminated at random moments, writes included, and resumed.

Each must end in the draws of an uninterrupted run, with no file but its checkpoint and its model.
One process that forks many costs one start, and has no threads that a fork could break.
"""

import os
import random
import signal
import time
from collections import Counter

import numpy as np
import pandas as pd

import mcsquared as mc2
from mcsquared import checkpoint
from mcsquared.fitting import disk
from tests.test_chain import assert_same_draws
from tests.test_checkpoint import CONDEMNED, KINDS, make_corpus, make_model

MAX_SIGNALS_PER_RUN = 15
EXPECTED = {0, -signal.SIGKILL, -signal.SIGTERM, 143}
# The same corpus in memory, in shards on disk, and on two Dask workers.
ON_DISK = [("words", 1, "λ resampled"), ("words", 2, "λ = ∞")]
WHERE = {"memory": CONDEMNED, "disk": ON_DISK, "workers": ON_DISK[:1]}
LONGEST = {"memory": 0.4, "disk": 1.5, "workers": 5.0}  # seconds before a signal


def run(where, folder, first, n_kills, report=print):
    """Send SIGKILL, and half as often SIGTERM, to resumed runs; return how many runs failed.

    ``first`` is the seed of the moments.
    """
    checkpoint.SECONDS_BETWEEN_WRITES = 0.0  # most of the time is spent in writing
    left = [signal.SIGKILL] * n_kills + [signal.SIGTERM] * (n_kills // 2)
    rng = random.Random(first)
    rng.shuffle(left)
    signals_per_run = min(-(-len(left) // len(WHERE[where])), MAX_SIGNALS_PER_RUN)
    failures, number, ends = 0, 0, Counter()
    while left:
        name, n_chains, sampling = WHERE[where][number % len(WHERE[where])]
        number += 1
        inside = folder / f"{where}-{number}"
        (inside / "scratch").mkdir(parents=True)
        settings = KINDS[sampling] | {"n_sweeps": 60 if where == "memory" else 40, "n_jobs": 2}
        source = make_corpus(name) if where == "memory" else on_disk(make_corpus(name), inside)
        whole = make_model(n_chains).set_params(**settings).fit(source).posterior_
        resumed = make_model(n_chains, checkpoint=inside / "run").set_params(**settings)
        signals = [left.pop() for _ in range(min(signals_per_run, len(left)))]
        fit = on_two_workers if where == "workers" else mc2.MC2.fit

        def save(fit=fit, resumed=resumed, source=source, path=inside / "model"):
            fit(resumed, source).save(path)

        left += interrupted_run(save, signals, ends, LONGEST[where], rng)
        try:
            assert_same_draws(mc2.MC2.load(inside / "model").posterior_, whole)
            names = sorted(path.name for path in inside.iterdir() if path.name != "groups")
            assert names == ["model", "run", "scratch"], names
            assert not list((inside / "scratch").iterdir())
        except AssertionError as error:
            failures += 1
            report(f"run {number} ({name}, {n_chains} chains, {sampling}): {str(error)[:300]}")
    summary = f"exit codes {dict(ends)} in {number} runs, {failures} failures"
    report(f"kills, {where}, seed {first}: {summary}")
    return failures


def on_disk(corpus, folder):
    """Return the corpus as a folder of Parquet files that is fitted in three shards."""
    disk.bytes_of = lambda source: 10**18
    disk.shards_for = lambda observations: 3
    disk.max_in_memory = lambda source: disk.MAX_SAMPLED
    (folder / "groups").mkdir()
    tokens = [np.repeat(row.indices, row.data).astype(str) for row in corpus.content.counts]
    table = {"tokens": tokens, "year": corpus.contexts["year"].values}
    pd.DataFrame(table).to_parquet(folder / "groups" / "one.parquet")
    return mc2.ParquetFolder(folder / "groups", scratch=folder / "scratch")


def on_two_workers(model, source):
    import distributed

    with distributed.Client(n_workers=2, processes=False, dashboard_address=None) as client:
        return mc2.distributed.fit(model, source, client=client)


def interrupted_run(save, signals, ends, longest, rng):
    """Call ``save`` in processes that get a signal each, the last one none; return those unused.

    ``ends`` counts the exit codes. Signals are sent within ``longest`` seconds,
    at moments drawn with ``rng``.
    """
    signals = list(signals)
    while True:
        child = os.fork()
        if not child:
            code = 1
            try:
                save()
                code = 0
            except SystemExit as error:
                code = error.code
            finally:
                os._exit(code)
        sent = None
        if signals:
            time.sleep(rng.uniform(0.0, longest))
            sent = signals.pop()
            os.kill(child, sent)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in EXPECTED, status
        ends[status] += 1
        if status == 0:
            return signals if sent is None else [*signals, sent]
