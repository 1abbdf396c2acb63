"""How much memory a whole fit takes, and what compiling the kernels adds."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from typing import Any

from benchmarks import ours
from benchmarks.contenders import tomotopy_hdp, tomotopy_lda
from benchmarks.corpora import data_folder, name_of_corpus
from benchmarks.measure import run_job
from benchmarks.settings import Settings
from benchmarks.tables import Answer, Target

__all__ = ["ask"]


COLD, WARM = "whole fit, kernels compiled", "whole fit, kernels from the cache"
LIMIT, LARGE_LIMIT = 400.0, 1_500.0

Reports = dict[str, dict[str, Any]]


def ask(settings: Settings) -> Answer:
    chosen = {"settings": asdict(settings)}
    reports = _fits(settings, chosen)
    targets = [
        Target(f"a {what}", reports[what]["peak_megabytes"], LIMIT, False, "MB")
        for what in (COLD, WARM)
        if what in reports
    ]
    notes = [
        "Each line is a process of its own, from its start to its end; the later ones hold the "
        "libraries and the corpus of the earlier ones.",
        f"A fit is `MC2(...).fit(corpus)` with {settings.fit_sweeps} sweeps, then labels and "
        "topics.",
    ]
    if COLD in reports:
        cpu, peak = (
            reports[COLD][name] - reports[WARM][name] for name in ("cpu_seconds", "peak_megabytes")
        )
        notes.append(f"Compiling adds {cpu:.0f} CPU-s and {peak:.0f} MB, the first time only.")
    for module in (tomotopy_lda, tomotopy_hdp):
        try:
            report = run_job("contend", module=module.__name__, **chosen)
            reports[f"{module.NAME}, as many sweeps"] = report
        except RuntimeError as error:
            notes.append(f"{module.NAME} was left out: {str(error).splitlines()[-1]}")
    large = _large_fits(settings, chosen)
    targets += [
        Target(what, report["peak_megabytes"], LARGE_LIMIT, False, "MB")
        for what, report in large.items()
    ]
    notes.append(_note_on_large(settings, large))
    return Answer(
        title=f"Peak memory: {name_of_corpus(settings)}, year and authors",
        columns=("what", "peak MB", "CPU-s", "fit, wall s", "clusters", "topics"),
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
    """Import, read and fit, each in a process of its own."""
    reports = {
        "import mcsquared": run_job("import_module", module="mcsquared"),
        "import mcsquared.MC2": run_job("import_name", module="mcsquared", name="MC2"),
        "the corpus read": run_job("load", **chosen),
    }
    if not settings.compile_anew:
        return {**reports, WARM: run_job("fit", **chosen)}
    with tempfile.TemporaryDirectory() as folder:
        cache = {"NUMBA_CACHE_DIR": folder}
        reports[COLD] = run_job("fit", cache, **chosen)
        reports[WARM] = run_job("fit", cache, **chosen)
    return reports


def _large_fits(settings: Settings, chosen: dict[str, Any]) -> Reports:
    """Fit the UN speeches on two threads, where they are at hand."""
    if settings.simulated or data_folder("ungdc.npz") is None:
        return {}
    return {
        f"{engine}, {settings.large_sweeps} sweeps of the UN speeches, two threads": run_job(
            "fit_large", engine=engine, **chosen
        )
        for engine in ours.ENGINES
    }


def _note_on_large(settings: Settings, large: Reports) -> str:
    if not large:
        return "The UN speeches were left out: they are not at hand."
    n_tokens = next(iter(large.values()))["n_tokens"]
    return (
        f"The UN speeches ({n_tokens / 1e6:.1f} M tokens, year and country) have at most "
        f"{settings.large_topics} topics and {settings.large_clusters} clusters."
    )
