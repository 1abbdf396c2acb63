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


@pytest.fixture
def short_launches(monkeypatch):
    """Fewer calls of each worker or passes over the shards in every sweep."""
    monkeypatch.setattr("mcsquared.samplers.steps.split_merge.MAX_SCANS", 2)
    monkeypatch.setattr("mcsquared.samplers.steps.split_merge.NEWTON_STEPS", 1)


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
