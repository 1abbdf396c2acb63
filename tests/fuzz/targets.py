"""What is fuzzed: each target makes a file from a generator, and uses it.

Only the documented errors may be raised, and no case may take long or much memory. Time is that of
the processor, so that other processes do not count.
"""

import os
import resource
import warnings

import numpy as np

import mcsquared as mc2
from mcsquared.cli.reading import FileOptions, parse_contexts, read_for_fit
from mcsquared.errors import InputError, ModelFileError
from mcsquared.storage import read_file, write_file
from tests.fuzz import mutations
from tests.samplers.leveled_cases import two_levels_above

MAX_SECONDS = 5.0
MAX_MEGABYTES = 500.0
WORDS = np.random.default_rng(0).poisson(1.5, (12, 8))
YEARS = np.random.default_rng(1).normal(2000, 5, 12)
TAGS = [["a", "b"], ["a"], None, ["c"]] * 3
CONTEXTS = {"year": YEARS, "tags": TAGS, "kind": ["x", "y", "x", None] * 3}
VECTORS = [np.random.default_rng(j).normal(size=(3, 2)) for j in range(12)]
CORPORA = {
    "words": mc2.Corpus(WORDS, CONTEXTS),
    "levels": two_levels_above(),
    "vectors": mc2.Corpus(VECTORS, {"year": YEARS}),
}
MODELS = [("words", {}), ("words", {"lam": np.inf}), ("vectors", {}), ("vectors", {"lam": np.inf})]
MODELS += [("words", {"lam": np.inf, "sampler": "collapsed"}), ("levels", {})]
MODELS += [("words", {"effects": ["kind", "tags"]})]


def model(**parameters):
    schedule = {"n_sweeps": 8, "burn_in": 2, "thin": 2, "random_state": 0, "progress": False}
    return mc2.MC2(**(schedule | parameters))


class SavedFiles:
    """Model files or checkpoints, changed and given the right digest again, or damaged."""

    def __init__(self, kind, folder):
        self.kind, self.folder, self.saved = kind, folder, []
        for i, (name, parameters) in enumerate(MODELS):
            path = folder / f"{kind}-{i}"
            if kind == "model":
                model(**parameters).fit(CORPORA[name]).save(path)
            else:
                with warnings.catch_warnings(action="ignore"):
                    model(**parameters, n_chains=2, checkpoint=path).fit(CORPORA[name])
            self.saved.append((path.read_bytes(), *read_file(path, kind), name, parameters))

    def run(self, rng):
        data, tensors, meta, name, parameters = mutations.pick(rng, self.saved)
        path = self.folder / f"changed-{self.kind}"
        if rng.random() < 0.1:
            path.write_bytes(mutations.changed_bytes(rng, data))
        else:
            write_file(path, self.kind, *mutations.changed_file(rng, tensors, meta))
        if self.kind == "model":
            loaded = mc2.MC2.load(path)
            loaded.posterior_.topics()
            loaded.predict(CORPORA[name])
        else:
            model(**parameters, n_chains=2, checkpoint=path).fit(CORPORA[name])


class Tables:
    """CSV, JSONL and Parquet files of odd cells and random bytes."""

    def __init__(self, suffix, folder):
        self.suffix, self.path = suffix, folder / f"table.{suffix}"

    def run(self, rng):
        made = getattr(mutations, f"{self.suffix}_bytes")(rng, mutations.table(rng))
        damaged = rng.random() < 0.3
        self.path.write_bytes(mutations.changed_bytes(rng, made) if damaged else made)
        contexts = mutations.pick(
            rng, [["year"], ["year", "tags:bag"], ["tags"], ["year:gaussian"]]
        )
        if self.suffix == "parquet" and rng.random() < 0.5:
            with mc2.ParquetFolder(self.path, "text", ["year", "tags"]).open() as corpus:
                corpus.describe()
            return
        file = FileOptions(self.path, "text", None, "utf-8", "2GB")
        read_for_fit(file, parse_contexts(contexts)).describe()


TARGETS = {
    "models": lambda folder: SavedFiles("model", folder),
    "checkpoints": lambda folder: SavedFiles("checkpoint", folder),
    "csv": lambda folder: Tables("csv", folder),
    "jsonl": lambda folder: Tables("jsonl", folder),
    "parquet": lambda folder: Tables("parquet", folder),
}


def run(name, folder, first, n_cases, report=print):
    """Run cases ``first`` to ``first + n_cases - 1`` of a target; return how many failed."""
    target, failures, refused, slowest = TARGETS[name](folder), 0, 0, (0.0, first)
    before = highest = peak_megabytes()
    for case in range(first, first + n_cases):
        began = processor_seconds()
        problem = ""
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                target.run(np.random.default_rng([case, len(name)]))
        except (InputError, ModelFileError) as error:
            refused += 1
            problem = f"{len(str(error))} characters" if len(str(error)) > 1000 else ""
        except Exception as error:
            problem = f"{type(error).__name__}: {str(error)[:200]}"
        seconds, peak = processor_seconds() - began, peak_megabytes()
        if seconds > MAX_SECONDS or peak > max(highest, before + MAX_MEGABYTES):
            problem = f"{seconds:.1f} s, {peak - before:.0f} MB {problem}"
        slowest, highest = max(slowest, (seconds, case)), max(highest, peak)
        if problem:
            failures += 1
            report(f"{name} {case}: {problem}")
    report(
        f"{name} {first} to {first + n_cases - 1}: {refused} refused, {failures} failures; "
        f"slowest {slowest[0]:.2f} s (case {slowest[1]}), {highest - before:.0f} MB more"
    )
    return failures


def processor_seconds():
    return sum(os.times()[:4])


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
