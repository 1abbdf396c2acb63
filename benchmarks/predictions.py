"""What the committed figures foretell for corpora that nobody has timed: the tables of one page.

``python -m benchmarks.predictions`` writes them into docs/scaling.md, from
benchmarks/results/latest.json, as every run of the benchmarks does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cost import (
    Costs,
    Sizes,
    formula,
    n_chunks,
    peak_bytes,
    predict_steps,
    wire_bytes,
)
from benchmarks.limits import MOVED
from benchmarks.measure import ROOT
from benchmarks.ours import FINITE, INFINITE
from benchmarks.questions.scaling import LAM, LEARNED, TITLE, costs_of
from benchmarks.tables import show

__all__ = [
    "BILLION",
    "PUBMED",
    "Device",
    "page",
    "refreshed",
    "seconds_on_cluster",
    "seconds_on_cores",
    "seconds_on_device",
    "write_page",
]

NEEDED = {"scaling", "memory", "device", "device_large"}  # questions whose answers are read
RESULTS = ROOT / "benchmarks" / "results" / "latest.json"

PUBMED = Sizes(8.2e6, 730e6, 483e6, 141_043, 112, 208)
BILLION = Sizes(1e9, 100e9, 66e9, 200_000, 112, 208)
CORPORA = {"PubMed": PUBMED, "a billion": BILLION}
STATISTICS = 3  # of a year

EFFICIENCY = 0.85  # of a core among others; two here: benchmarks, threads
ETHERNET = 1.25e9  # bytes/s: 10 Gbit/s
ADDED = 1.3e-9  # seconds for a cell of one worker's counts that is added at home, measured
DASK = 0.1  # seconds that Dask takes in a sweep, measured
BUS = 50e9  # bytes/s from main memory to a GPU
BETWEEN_DEVICES = 400e9  # bytes/s
DEVICE_MEMORY = 0.8 * 141e9  # bytes for the corpus
DEVICE_BYTES = {INFINITE: ("E", 8), FINITE: ("N", 8)}  # of an entry; of a token, its topic twice

ROWS_READ = 9  # the column of the device's table
FROM = ("NIPS", "140 M tokens, simulated")  # the device's costs are taken from these two

# Two workers, MB in a sweep, to and fro: sizes, statistics, λ = ∞ or finite, as docs/cluster.md.
MEASURED_ON_WIRE = (
    ("labelme8", INFINITE, Sizes(2_688, 1_851_574, 437_335, 200, 208, 112, 250), 0, 1.92),
    ("labelme8", FINITE, Sizes(2_688, 1_851_574, 437_335, 200, 64, 112, 250), 0, 0.85),
    ("NIPS", INFINITE, Sizes(1_740, 2_301_375, 933_295, 13_649, 320, 256, 4_623), 3, 89.06),
    ("NIPS", FINITE, Sizes(1_740, 2_301_375, 933_295, 13_649, 64, 256, 4_623), 3, 61.28),
)


@dataclass(frozen=True)
class Device:
    """What a sweep takes on a GPU: seconds whatever the size, and for each product of sizes."""

    fixed: float
    term: str
    each: float


def seconds_on_cores(costs: Costs, sizes: Sizes, cores: int) -> float:
    """Return the wall seconds of a sweep on some cores: all steps but the rest run on all."""
    steps = predict_steps(costs, sizes)
    rest = steps.pop("rest")
    return sum(steps.values()) / (1.0 if cores == 1 else EFFICIENCY * cores) + rest


def seconds_on_cluster(
    engine: str, costs: Costs, sizes: Sizes, workers: int, cores: int = 1, home: int = 64
) -> dict[str, float]:
    """Return the wall seconds of a sweep on a cluster, by what they are spent on.

    Parameters
    ----------
    workers : int
    cores : int
        Of each worker; those of today use one.
    home : int
        Cores of the process that asks.
    """
    busy = min(workers, n_chunks(sizes))
    at_home = ("ψ", "topics") if engine == INFINITE else ("ψ",)
    steps = predict_steps(costs, sizes)
    shard = 0.0
    for step in ("clusters", "topics", "counts"):
        if step in at_home:
            continue
        for term, cost in costs[step].items():
            # What all workers need alike (tables over words and topics) each makes for itself.
            share = busy if {"J", "N", "E"} & set(term.split("·")) else 1
            shard += cost * sizes.product(term) / share
    columns = sizes.clusters if engine == INFINITE else sizes.topics
    return {
        "workers": shard / (1.0 if cores == 1 else EFFICIENCY * cores),
        "home": sum(steps[step] for step in at_home) / (EFFICIENCY * home)
        + steps["rest"]
        + busy * sizes.words * columns * ADDED
        + DASK,
        "wire": wire_bytes(engine, sizes, busy, STATISTICS) / ETHERNET,
    }


def measured_on_device(answers: Mapping[str, Any]) -> dict[tuple[str, str], tuple[Sizes, float]]:
    """Return sizes and seconds of the sweeps that were timed on a GPU, by set and engine."""
    from mcsquared.samplers.blocked.weights import TOPIC_SLOTS

    found = {}
    for row in (*answers["device"]["rows"], *answers["device_large"]["rows"]):
        name, lam, groups, millions, clusters, topics, milliseconds = row[:7]
        engine = INFINITE if lam.endswith(LAM[INFINITE]) else FINITE
        slots = next(size for size in TOPIC_SLOTS if size >= topics)
        # λ = ∞: the table has the time in which floats of all entries and clusters could be read.
        floats = 1e-3 * row[ROWS_READ] * MOVED / 4 if engine == INFINITE else 0.0
        sizes = Sizes(groups, 1e6 * millions, floats / clusters, 0, clusters, slots)
        found[name, engine] = (sizes, milliseconds / 1e3)
    return found


def learn_device(engine: str, measured: Mapping[tuple[str, str], tuple[Sizes, float]]) -> Device:
    """Return the costs of a GPU that pass through two measurements."""
    term = "E·K" if engine == INFINITE else "N·M"
    (few, begun), (many, ended) = (measured[name, engine] for name in FROM)
    each = (ended - begun) / (many.product(term) - few.product(term))
    return Device(begun - each * few.product(term), term, each)


def seconds_on_device(engine: str, device: Device, sizes: Sizes, devices: int = 1) -> float:
    """Return the wall seconds of a sweep; what does not fit is copied there in every sweep."""
    letter, size = DEVICE_BYTES[engine]
    moved = size * sizes.product(letter) / devices
    copied = moved / BUS if moved > DEVICE_MEMORY else 0.0
    exchanged = 8 * sizes.words * sizes.topics / BETWEEN_DEVICES if devices > 1 else 0.0
    return device.fixed + device.each * sizes.product(device.term) / devices + copied + exchanged


def seconds_on_device_workers(
    engine: str, costs: Costs, device: Device, sizes: Sizes, workers: int
) -> float:
    """Return the wall seconds of a sweep on a cluster whose workers have a GPU each."""
    spent = seconds_on_cluster(engine, costs, sizes, workers)
    return seconds_on_device(engine, device, sizes, workers) + spent["home"] + spent["wire"]


def page(answers: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the tables of the page, by name, as lines of Markdown."""
    rows = answers["scaling"]["rows"]
    costs = costs_of(rows)
    measured = measured_on_device(answers)
    devices = {engine: learn_device(engine, measured) for engine in (INFINITE, FINITE)}
    return {
        "costs": _costs(costs),
        "checks": _checks(rows),
        "memory": _memory(answers["memory"]["rows"]),
        "wire": _wire(),
        "formulas": [
            f"- {TITLE[engine]}: {1e3 * cost.fixed:.2g} ms + {1e9 * cost.each:.3g} ns {cost.term}"
            for engine, cost in devices.items()
        ],
        "device": _device(devices, measured),
        "predictions": _predictions(costs, devices),
        "cluster": _cluster(costs),
    }


def _table(columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> list[str]:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" + "---:|" * (len(columns) - 1)]
    return lines + ["| " + " | ".join(map(show, row)) + " |" for row in rows]


def _costs(costs: Mapping[str, Costs]) -> list[str]:
    return _table(
        ("step", "λ = ∞", "λ finite"),
        (
            (step, formula(costs[INFINITE][step]), formula(costs[FINITE][step]))
            for step in costs[FINITE]
        ),
    )


def _checks(rows: Sequence[Sequence[Any]]) -> list[str]:
    return _table(
        (
            "set",
            "λ",
            "groups",
            "tokens",
            "words",
            "K",
            "M",
            "measured, CPU-s",
            "predicted",
            "ratio",
        ),
        ((*row[:1], *row[2:5], *row[6:9], *row[-3:]) for row in rows if row[1] != LEARNED),
    )


def _memory(rows: Sequence[Sequence[Any]]) -> list[str]:
    peak = {row[0]: row[1] for row in rows}
    libraries = peak["import mcsquared.MC2"]
    nips = Sizes(1_740, 2_301_375, 933_295, 13_649, 64, 256, 2_037)
    speeches = Sizes(10_952, 13_646_599, 8_034_873, 16_776, 64, 160, 200)
    fits = {
        "NIPS, year and authors": ("whole fit, kernels from the cache", nips),
        **{
            f"UN speeches, {engine.split(', ')[1]}": (name, speeches)
            for engine in (INFINITE, FINITE)
            for name in peak
            if name.startswith(engine)
        },
    }
    return _table(
        ("fit", "measured, MB", "predicted", "ratio"),
        (
            (what, peak[name], found := libraries + peak_bytes(sizes, 2) / 1e6, found / peak[name])
            for what, (name, sizes) in fits.items()
        ),
    )


def _wire() -> list[str]:
    return _table(
        ("set", "λ", "slots K × M", "measured, MB", "predicted", "ratio"),
        (
            (
                name,
                LAM[engine],
                f"{sizes.clusters} × {sizes.topics}",
                measured,
                found := wire_bytes(engine, sizes, 2, statistics) / 1e6,
                found / measured,
            )
            for name, engine, sizes, statistics, measured in MEASURED_ON_WIRE
        ),
    )


def _device(
    devices: Mapping[str, Device], measured: Mapping[tuple[str, str], tuple[Sizes, float]]
) -> list[str]:
    def rows() -> Iterator[Sequence[Any]]:
        for (name, engine), (sizes, seconds) in measured.items():
            found = seconds_on_device(engine, devices[engine], sizes)
            use = "fit" if name in FROM else "check"
            yield name, use, LAM[engine], 1e3 * seconds, 1e3 * found, found / seconds

    return _table(("set", "use", "λ", "measured, ms", "predicted", "ratio"), rows())


def _predictions(costs: Mapping[str, Costs], devices: Mapping[str, Device]) -> list[str]:
    def rows() -> Iterator[Sequence[Any]]:
        for what, cores in (("one core", 1), ("2 cores", 2), ("64 cores", 64)):
            yield what, *_each(lambda e, s, n=cores: seconds_on_cores(costs[e], s, n))
        for what, workers, cores in (
            ("16 × 64 cores, a worker for each core", 1024, 1),
            ("16 × 64 cores, a worker for each machine (not built)", 16, 64),
        ):
            yield (
                what,
                *_each(
                    lambda e, s, w=workers, n=cores: sum(
                        seconds_on_cluster(e, costs[e], s, w, n).values()
                    )
                ),
            )
        alone, many = "one H200", "8 H200 that add up counts among them (not built)"
        yield alone, *_each(lambda e, s: seconds_on_device(e, devices[e], s))
        yield (
            "8 H200, a worker for each",
            *_each(lambda e, s: seconds_on_device_workers(e, costs[e], devices[e], s, 8)),
        )
        yield many, *_each(lambda e, s: seconds_on_device(e, devices[e], s, 8))

    columns = (f"{name}, {TITLE[engine]}" for name in CORPORA for engine in (INFINITE, FINITE))
    return _table(("seconds a sweep", *columns), rows())


def _each(seconds: Any) -> list[float]:
    return [seconds(engine, sizes) for sizes in CORPORA.values() for engine in (INFINITE, FINITE)]


def _cluster(costs: Mapping[str, Costs]) -> list[str]:
    def rows() -> Iterator[Sequence[Any]]:
        for name, sizes in CORPORA.items():
            for engine in (INFINITE, FINITE):
                for workers in (16, 64, 256, 1024):
                    spent = seconds_on_cluster(engine, costs[engine], sizes, workers)
                    yield name, LAM[engine], workers, *spent.values(), sum(spent.values())

    return _table(("corpus", "λ", "workers", "their work, s", "home", "wire", "a sweep"), rows())


def refreshed(text: str, answers: Mapping[str, Any]) -> str:
    """Return the page with the tables of these answers, each between its two marks."""
    if not set(answers) >= NEEDED:
        return text
    for name, lines in page(answers).items():
        mark = f"<!-- {name} -->"
        before, _, after = text.split(mark)
        text = f"{before}{mark}\n\n" + "\n".join(lines) + f"\n\n{mark}{after}"
    return text


def write_page(path: Path, answers: Mapping[str, Any]) -> None:
    """Bring the page up to date, where it is and where there is something to say."""
    if path.exists():
        path.write_text(refreshed(path.read_text(encoding="utf-8"), answers), encoding="utf-8")


if __name__ == "__main__":
    found = json.loads(RESULTS.read_text(encoding="utf-8"))["answers"]
    write_page(ROOT / "docs" / "scaling.md", found)
