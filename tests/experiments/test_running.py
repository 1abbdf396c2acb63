"""Experiments over seeds: the record and the settings."""

import json

import numpy as np
import pytest

import experiments
from experiments.running import Setting, record_text, run_experiment, run_seed
from mcsquared import InputError


@pytest.fixture(scope="module")
def record():
    return run_experiment("correlation", Setting("tiny"), range(2), 1, "mc2 reproduce correlation")


def test_parallel_seeds_give_the_same_rows_as_sequential_ones(record):
    parallel = run_experiment("correlation", Setting("tiny"), range(2), 2)
    assert parallel["rows"] == record["rows"]
    assert {row["seed"] for row in record["rows"]} == {0, 1}


def test_a_record_describes_the_run(record):
    again = json.loads(record_text(record))
    assert again == record
    assert again["command"] == "mc2 reproduce correlation"
    assert again["seeds"] == [0, 1]
    assert again["versions"]["mcsquared"]
    assert "cores" in again["machine"]
    assert again["seconds"] > 0
    assert again["paper"]["where"] == "Appendix A.1.3"


def test_a_record_has_one_row_per_line(record):
    lines = record_text(record).splitlines()
    assert sum(line.startswith('{"seed"') for line in lines) == len(record["rows"])


def test_seeds_differ_and_each_is_reproducible():
    first, again, other = (run_seed("correlation", seed, Setting("tiny")) for seed in (0, 0, 1))
    assert first.rows == again.rows
    assert first.rows[0]["simulated"] != other.rows[0]["simulated"]


def test_tiny_scale_has_fewer_sweeps_of_every_kind():
    tiny, full = Setting("tiny"), Setting("full")
    assert (full.sweeps(600), full.sweeps(100)) == (600, 100)
    assert (tiny.sweeps(600), tiny.sweeps(100), tiny.sweeps(3)) == (30, 5, 1)
    assert (tiny.choose(1, 2), full.choose(1, 2)) == (2, 1)


def test_an_unknown_scale_and_an_unknown_data_set_are_rejected():
    with pytest.raises(InputError, match="scale must be one of full, tiny, got 'huge'"):
        Setting("huge")
    with pytest.raises(InputError, match=r"data set must be one of .*, got 'birds'"):
        Setting("tiny", chosen_sets=("birds",))


def test_data_sets_are_those_of_the_experiment_unless_the_user_names_some():
    assert Setting("tiny").sets("labelme8") == ("labelme8",)
    assert Setting("tiny", chosen_sets=("poliblog5k",)).sets("labelme8") == ("poliblog5k",)


def test_arrays_are_stored_rounded_and_as_lists():
    setting = Setting("tiny")
    setting.keep("a", np.array([[1 / 3, 123456.0], [np.nan, 0.0]]))
    setting.keep("words", ["a", "b"])
    assert setting.arrays == {"a": [[0.3333, 123500.0], [None, 0.0]], "words": ["a", "b"]}


def test_an_unknown_experiment_is_rejected_with_the_known_ones():
    with pytest.raises(InputError, match=r"letters, table1.*'table9'"):
        experiments.find("table9")
