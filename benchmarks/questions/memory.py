"""Peak memory of a fit, and the memory added by compiling the kernels."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from benchmarks import engines
from benchmarks.contenders import TomotopyHDP, TomotopyLDA
from benchmarks.corpora import data_folder, name_of_corpus
from benchmarks.measure import run_job
from benchmarks.settings import Settings
from benchmarks.tables import Result, Target

COLD, WARM = "whole fit, kernels compiled", "whole fit, kernels from the cache"
LIMIT, LARGE_LIMIT = 350.0, 600.0

Reports = dict[str, dict[str, Any]]


def run(settings: Settings) -> Result:
    chosen = {"settings": asdict(settings)}
    reports = _fits(settings, chosen)
    targets = [
        Target(f"a {what}", reports[what]["peak_megabytes"], LIMIT, False, "MB")
        for what in (COLD, WARM)
        if what in reports
    ]
    notes = [
        "Each row is a separate process, measured from start to end; later rows include the "
        "libraries and the corpus of earlier ones.",
        f"A fit is `MC2(...).fit(corpus)` with {settings.fit_sweeps} sweeps, followed by labels "
        "and topics.",
    ]
    if COLD in reports:
        cpu, peak = (
            reports[COLD][name] - reports[WARM][name] for name in ("cpu_seconds", "peak_megabytes")
        )
        notes.append(f"Compiling adds {cpu:.0f} CPU-s and {peak:.0f} MB, on the first run only.")
    for peer in (TomotopyLDA, TomotopyHDP):
        try:
            report = run_job("sweep_contender", name=peer.name, **chosen)
            reports[f"{peer.name}, as many sweeps"] = report
        except RuntimeError as error:
            notes.append(f"{peer.name} was skipped: {str(error).splitlines()[-1]}")
    large = _large_fits(settings, chosen)
    targets += [
        Target(what, report["peak_megabytes"], LARGE_LIMIT, False, "MB")
        for what, report in large.items()
    ]
    notes.append(_note_on_large(settings, large))
    return Result(
        title=f"Peak memory: {name_of_corpus(settings)}, year and authors",
        columns=("process", "peak MB", "CPU-s", "fit, wall s", "clusters", "topics"),
        rows=[
            (
                what,
                report["peak_megabytes"],
                report["cpu_seconds"],
                report.get("fit_wall_seconds"),
                report.get("clusters"),
                report.get("topics"),
            )
            for what, report in (reports | large).items()
        ],
        targets=targets,
        notes=notes,
    )


def _fits(settings: Settings, chosen: dict[str, Any]) -> Reports:
    """Import, read and fit, each in a separate process."""
    reports = {
        "import mcsquared": run_job("import_module", module="mcsquared"),
        "import mcsquared.MC2": run_job("import_name", module="mcsquared", name="MC2"),
        "reading the corpus": run_job("load", **chosen),
    }
    if not settings.measure_compilation:
        return {**reports, WARM: run_job("fit", **chosen)}
    reports[COLD] = run_job("fit", compiled=True, **chosen)
    return {**reports, WARM: run_job("fit", **chosen)}


def _large_fits(settings: Settings, chosen: dict[str, Any]) -> Reports:
    """Fit the UN speeches on two threads if they are available."""
    if settings.simulated or data_folder("ungdc.npz") is None:
        return {}
    return {
        f"{engine}, {settings.large_sweeps} sweeps of the UN speeches, two threads": run_job(
            "fit_large", engine=engine, **chosen
        )
        for engine in engines.ENGINES
    }


def _note_on_large(settings: Settings, large: Reports) -> str:
    if not large:
        return "The UN speeches were skipped: the data set was not found."
    n_tokens = next(iter(large.values()))["n_tokens"]
    return (
        f"The UN speeches ({n_tokens / 1e6:.1f} M tokens, year and country) have at most "
        f"{settings.large_topics} topics and {settings.large_clusters} clusters."
    )
