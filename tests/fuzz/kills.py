"""Runs that are killed and terminated at random moments, writes included, and resumed.

Each must end in the draws of an uninterrupted run, with no file but its checkpoint and its model.
One process that forks many costs one start, and has no threads that a fork could break.
"""

import os
import random
import signal
import time
from collections import Counter

from mcsquared import checkpoint
from mcsquared.estimator import MC2
from tests.test_chain import assert_same_draws
from tests.test_checkpoint import CONDEMNED, KINDS, make_corpus, make_model

SIGNALS_PER_RUN = 15
EXPECTED = {0, -signal.SIGKILL, -signal.SIGTERM, 143}


def run(folder, n_kills, n_terms, report=print):
    """Send so many SIGKILL and SIGTERM to resumed runs; return how many runs failed."""
    checkpoint.SECONDS_BETWEEN_WRITES = 0.0  # most of the time is spent in writing
    left = [signal.SIGKILL] * n_kills + [signal.SIGTERM] * n_terms
    random.Random(0).shuffle(left)
    failures, number, ends = 0, 0, Counter()
    while left:
        name, n_chains, sampling = CONDEMNED[number % len(CONDEMNED)]
        number += 1
        inside = folder / str(number)
        inside.mkdir()
        corpus, settings = make_corpus(name), {"n_sweeps": 120, "n_jobs": 2}
        model = make_model(n_chains, **KINDS[sampling]).set_params(**settings)
        whole = model.fit(corpus).posterior_
        resumed = make_model(n_chains, checkpoint=inside / "run", **KINDS[sampling])
        signals = [left.pop() for _ in range(min(SIGNALS_PER_RUN, len(left)))]
        resumed.set_params(**settings)
        left += interrupted_run(resumed, corpus, inside / "model", signals, ends)
        try:
            assert_same_draws(MC2.load(inside / "model").posterior_, whole)
            names = sorted(path.name for path in inside.iterdir())
            assert names == ["model", "run"], names
        except AssertionError as error:
            failures += 1
            report(f"run {number} ({name}, {n_chains} chains, {sampling}): {str(error)[:300]}")
    report(f"kills: exit codes {dict(ends)} in {number} runs, {failures} failures")
    return failures


def interrupted_run(model, corpus, path, signals, ends):
    """Fit and save in processes that get a signal each, the last one none; return those unused.

    ``ends`` counts the exit codes.
    """
    signals = list(signals)
    while True:
        child = os.fork()
        if not child:
            code = 1
            try:
                model.fit(corpus).save(path)
                code = 0
            except SystemExit as error:
                code = error.code
            finally:
                os._exit(code)
        sent = None
        if signals:
            time.sleep(random.uniform(0.0, 0.4))
            sent = signals.pop()
            os.kill(child, sent)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in EXPECTED, status
        ends[status] += 1
        if status == 0:
            return signals if sent is None else [*signals, sent]
