"""Predicted times of a sweep for larger corpora and machines: the tables of docs/scaling.md.

``python -m benchmarks.predictions`` updates the page from benchmarks/results/latest.json, as does
every run of the benchmarks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cluster_model import EFFICIENCY, MEASURED, seconds_on_cluster, traffic
from benchmarks.cost import Costs, Sizes, formula, peak_bytes, predict, predict_steps
from benchmarks.engines import FINITE, INFINITE
from benchmarks.limits import BYTES_PER_SECOND
from benchmarks.measure import ROOT
from benchmarks.questions.scaling import FITTED, LAM, TITLE, costs_of
from benchmarks.tables import format_cell

REQUIRED = {"scaling", "memory", "device", "device_large"}  # benchmarks whose results are used
RESULTS = ROOT / "benchmarks" / "results" / "latest.json"

PUBMED = Sizes(8.2e6, 730e6, 483e6, 141_043, 112, 208)
BILLION = Sizes(1e9, 100e9, 66e9, 200_000, 112, 208)
CORPORA = {"PubMed": PUBMED, "a billion": BILLION}

EMULATED_BANDWIDTH = 125e6  # bytes/s of `benchmarks.network`: 1 Gbit/s
BUS_BANDWIDTH = 50e9  # bytes/s from main memory to a GPU
DEVICE_BANDWIDTH = 400e9  # bytes/s between GPUs
DEVICE_MEMORY = 0.8 * 141e9  # bytes for the corpus
DEVICE_BYTES = {INFINITE: ("E", 8), FINITE: ("N", 8)}  # per entry; per token, with its topic twice

ROWS_READ = 9  # column of the device table
FITTED_SETS = ("NIPS", "140 M tokens, simulated")  # to which the costs of a GPU are fitted


@dataclass(frozen=True)
class Device:
    """Cost of a sweep on a GPU: fixed seconds, and seconds per product of sizes."""

    fixed: float
    term: str
    each: float


def seconds_on_cores(costs: Costs, sizes: Sizes, cores: int) -> float:
    """Return the wall seconds of a sweep; all steps except ``rest`` use all cores."""
    steps = predict_steps(costs, sizes)
    rest = steps.pop("rest")
    return sum(steps.values()) / (1.0 if cores == 1 else EFFICIENCY * cores) + rest


def measured_on_device(results: Mapping[str, Any]) -> dict[tuple[str, str], tuple[Sizes, float]]:
    """Return sizes and seconds of the sweeps timed on a GPU, by data set and engine."""
    from mcsquared.samplers.steps.slots import TOPIC_SLOTS

    found = {}
    for row in (*results["device"]["rows"], *results["device_large"]["rows"]):
        name, lam, groups, millions, clusters, topics, milliseconds = row[:7]
        engine = INFINITE if lam.endswith(LAM[INFINITE]) else FINITE
        slots = next(size for size in TOPIC_SLOTS if size >= topics)
        # λ = ∞: the table has the time to read a float per entry and cluster.
        floats = 1e-3 * row[ROWS_READ] * BYTES_PER_SECOND / 4 if engine == INFINITE else 0.0
        sizes = Sizes(groups, 1e6 * millions, floats / clusters, 0, clusters, slots)
        found[name, engine] = (sizes, milliseconds / 1e3)
    return found


def fit_device(engine: str, measured: Mapping[tuple[str, str], tuple[Sizes, float]]) -> Device:
    """Return the costs of a GPU that agree with two measurements."""
    term = "E·K" if engine == INFINITE else "N·M"
    (small, small_seconds), (large, large_seconds) = (
        measured[name, engine] for name in FITTED_SETS
    )
    each = (large_seconds - small_seconds) / (large.product(term) - small.product(term))
    return Device(small_seconds - each * small.product(term), term, each)


def seconds_on_device(engine: str, device: Device, sizes: Sizes, devices: int = 1) -> float:
    """Return the wall seconds of a sweep; a corpus that does not fit is copied every sweep."""
    letter, size = DEVICE_BYTES[engine]
    moved = size * sizes.product(letter) / devices
    copied = moved / BUS_BANDWIDTH if moved > DEVICE_MEMORY else 0.0
    exchanged = 8 * sizes.words * sizes.topics / DEVICE_BANDWIDTH if devices > 1 else 0.0
    return device.fixed + device.each * sizes.product(device.term) / devices + copied + exchanged


def seconds_on_device_workers(
    engine: str, costs: Costs, device: Device, sizes: Sizes, workers: int
) -> float:
    """Return the wall seconds of a sweep on a cluster with one GPU per worker."""
    spent = seconds_on_cluster(engine, costs, sizes, workers)
    return seconds_on_device(engine, device, sizes, workers) + spent["client"] + spent["network"]


def page_tables(results: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the tables of the page by name, as lines of Markdown."""
    rows = results["scaling"]["rows"]
    costs = costs_of(rows)
    measured = measured_on_device(results)
    devices = {engine: fit_device(engine, measured) for engine in (INFINITE, FINITE)}
    return {
        "costs": _costs(costs),
        "checks": _checks(rows),
        "memory": _memory(results["memory"]["rows"]),
        "wire": _traffic(),
        "network": _network(costs),
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
    return lines + ["| " + " | ".join(map(format_cell, row)) + " |" for row in rows]


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
            "data set",
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
        ((*row[:1], *row[2:5], *row[6:9], *row[-3:]) for row in rows if row[1] != FITTED),
    )


def _memory(rows: Sequence[Sequence[Any]]) -> list[str]:
    peak = {row[0]: row[1] for row in rows}
    libraries = peak["import mcsquared.MC2"]
    nips = Sizes(1_740, 2_301_375, 933_295, 13_649, 64, 576, 2_037)
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


def _traffic() -> list[str]:
    return _table(
        ("data set", "λ", "workers", "measured, MB", "predicted", "ratio"),
        (
            (
                name,
                LAM[engine],
                workers,
                measured,
                found := traffic(engine, sizes, workers, statistics=3).total(workers) / 1e6,
                found / measured,
            )
            for name, engine, sizes, workers, measured, *_ in MEASURED
        ),
    )


def _network(costs: Mapping[str, Costs]) -> list[str]:
    """Return seconds with the bandwidth of the emulated network, measured and predicted."""

    def rows() -> Iterator[Sequence[Any]]:
        for name, engine, sizes, workers, _, worker, client in MEASURED:
            if worker is None:
                continue
            given = (engine, costs[engine], sizes, workers)
            found = seconds_on_cluster(*given, bandwidth=EMULATED_BANDWIDTH)
            measured = worker + client + found["network"]
            efficiency = predict(costs[engine], sizes) / workers / measured
            total = sum(found.values())
            figures = (worker, client, found["network"], measured, total, total / measured)
            yield name, LAM[engine], workers, *figures, efficiency

    columns = ("data set", "λ", "workers", "worker, s", "client, s", "network, s (predicted)")
    return _table((*columns, "sweep, s", "predicted", "ratio", "efficiency"), rows())


def _device(
    devices: Mapping[str, Device], measured: Mapping[tuple[str, str], tuple[Sizes, float]]
) -> list[str]:
    def rows() -> Iterator[Sequence[Any]]:
        for (name, engine), (sizes, seconds) in measured.items():
            found = seconds_on_device(engine, devices[engine], sizes)
            use = "fit" if name in FITTED_SETS else "check"
            yield name, use, LAM[engine], 1e3 * seconds, 1e3 * found, found / seconds

    return _table(("data set", "use", "λ", "measured, ms", "predicted", "ratio"), rows())


def _predictions(costs: Mapping[str, Costs], devices: Mapping[str, Device]) -> list[str]:
    def rows() -> Iterator[Sequence[Any]]:
        for what, cores in (("one core", 1), ("2 cores", 2), ("64 cores", 64)):
            yield what, *_for_all_corpora(lambda e, s, n=cores: seconds_on_cores(costs[e], s, n))
        for what, workers, cores in (
            ("16 × 64 cores, one worker per core", 1024, 1),
            ("16 × 64 cores, one worker per machine", 16, 64),
        ):
            yield (
                what,
                *_for_all_corpora(
                    lambda e, s, w=workers, n=cores: sum(
                        seconds_on_cluster(e, costs[e], s, w, n).values()
                    )
                ),
            )
        alone, many = "one H200", "8 H200 that sum counts directly (not implemented)"
        yield alone, *_for_all_corpora(lambda e, s: seconds_on_device(e, devices[e], s))
        yield (
            "8 H200, one worker each",
            *_for_all_corpora(
                lambda e, s: seconds_on_device_workers(e, costs[e], devices[e], s, 8)
            ),
        )
        yield many, *_for_all_corpora(lambda e, s: seconds_on_device(e, devices[e], s, 8))

    columns = (f"{name}, {TITLE[engine]}" for name in CORPORA for engine in (INFINITE, FINITE))
    return _table(("seconds per sweep", *columns), rows())


def _for_all_corpora(seconds: Any) -> list[float]:
    return [seconds(engine, sizes) for sizes in CORPORA.values() for engine in (INFINITE, FINITE)]


def _cluster(costs: Mapping[str, Costs]) -> list[str]:
    def rows() -> Iterator[Sequence[Any]]:
        for name, sizes in CORPORA.items():
            for engine in (INFINITE, FINITE):
                for workers in (16, 64, 256, 1024):
                    spent = seconds_on_cluster(engine, costs[engine], sizes, workers)
                    yield name, LAM[engine], workers, *spent.values(), sum(spent.values())

    return _table(
        ("corpus", "λ", "workers", "workers, s", "client, s", "network, s", "sweep, s"), rows()
    )


def update_tables(text: str, results: Mapping[str, Any]) -> str:
    """Return the page with updated tables, each between its two markers."""
    if not set(results) >= REQUIRED:
        return text
    for name, lines in page_tables(results).items():
        marker = f"<!-- {name} -->"
        before, _, after = text.split(marker)
        text = f"{before}{marker}\n\n" + "\n".join(lines) + f"\n\n{marker}{after}"
    return text


def write_page(path: Path, results: Mapping[str, Any]) -> None:
    """Update the page if it exists."""
    if path.exists():
        path.write_text(update_tables(path.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    found = json.loads(RESULTS.read_text(encoding="utf-8"))["results"]
    write_page(ROOT / "docs" / "scaling.md", found)
