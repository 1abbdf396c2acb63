"""Shared fixtures: settings of Hypothesis, the table of calibration results."""

import contextlib
import signal
import warnings

import hypothesis
import pytest

from tests.statistics import calibration_table

# How long an example takes says more about the machine, and what else it does, than about us.
# Examples are the same in every run; --hypothesis-profile=random looks for new ones.
hypothesis.settings.register_profile("same", deadline=None, derandomize=True)
hypothesis.settings.register_profile("random", deadline=None)
hypothesis.settings.load_profile("same")

# Tests of Ctrl-C need it to be heard, which it is not in the background of a script.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

RESULTS = "calibration"
# Nanoseconds to start a thread: so few that all threads take part in the steps of tiny corpora.
NO_THREAD_COST = 1e-6
found = []


@pytest.fixture
def calibration(record_property, request):
    """Note one row of docs/calibration.md, also when the test then fails."""

    def note(test, **values):
        row = calibration_table.Row(test, request.node.nodeid.partition("::")[0], **values)
        record_property(RESULTS, calibration_table.to_property(row))

    return note


@pytest.fixture(autouse=True)
def all_threads(monkeypatch):
    """Use all threads in every step, however small."""
    monkeypatch.setattr("mcsquared.samplers.threads.THREAD_COST", NO_THREAD_COST)


SHORT = {
    "mcsquared.samplers.steps.split_merge.FIRST_SWEEPS": 2,  # then every fifth one
    "mcsquared.samplers.steps.topic_moves.FIRST_SWEEPS": 2,
    "mcsquared.samplers.steps.topic_moves.SMALL_CORPUS": 0,  # which has moves in every sweep
    "mcsquared.samplers.steps.topic_division.MAX_PASSES": 3,
    "mcsquared.samplers.steps.split_merge.MAX_SCANS": 2,
    "mcsquared.samplers.steps.split_merge.NEWTON_STEPS": 1,
    "mcsquared.samplers.hdp.MAX_HDP_SWEEPS": 5,
    "mcsquared.samplers.init.starts.MIN_SWEEPS_WITHOUT_CLUSTERS": 5,
    "mcsquared.evaluation.stacking.MIN_DRAWS_PER_CHAIN": 1,
    "mcsquared.evaluation.stacking.MAX_GROUPS": 30,
}


@pytest.fixture(scope="module")
def short_fits():
    """Shorter starts and comparisons of chains, fewer and shorter splits and merges.

    For tests of what surrounds the sweeps: files, workers, signals, stages. One fit is compared
    with another there, and its quality does not matter.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SHORT.items():
            patch.setattr(name, value)
        yield


@pytest.fixture
def moves_of_larger_corpora(monkeypatch):
    """Move topics in every fifth sweep; moves take half the time of a sweep of a tiny corpus."""
    monkeypatch.setattr("mcsquared.samplers.steps.topic_moves.SMALL_CORPUS", 0)
    monkeypatch.setattr("mcsquared.samplers.steps.topic_moves.FIRST_SWEEPS", 0)


def pytest_configure(config):
    # ArviZ leaves a file when it is first imported on a day, and fails where two processes do so at
    # once: before there are workers, this one does.
    if getattr(config.option, "numprocesses", None):
        with warnings.catch_warnings(), contextlib.suppress(ImportError):
            warnings.simplefilter("ignore")
            import arviz  # noqa: F401


def pytest_runtest_logreport(report):
    if report.when == "call":
        found.extend(value for name, value in report.user_properties if name == RESULTS)


def pytest_sessionfinish(session):
    # Workers send their reports on; the one process that has them all writes.
    if found and not hasattr(session.config, "workerinput"):
        calibration_table.write(found)
