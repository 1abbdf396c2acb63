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


def ask(settings: Settings) -> Answer:
    chosen, notes = {"settings": asdict(settings)}, []
    with tempfile.TemporaryDirectory() as folder:
        cache = {"NUMBA_CACHE_DIR": folder}
        reports: dict[str, dict[str, Any]] = {
            "import mcsquared": run_job("import_module", module="mcsquared"),
            "import mcsquared.MC2": run_job("import_name", module="mcsquared", name="MC2"),
            "the corpus read": run_job("load", **chosen),
            "whole fit, kernels compiled": run_job("fit", cache, **chosen),
            "whole fit, kernels from the cache": run_job("fit", cache, **chosen),
        }
    for module in (tomotopy_lda, tomotopy_hdp):
        try:
            report = run_job("contend", module=module.__name__, **chosen)
            reports[f"{module.NAME}, as many sweeps"] = report
        except RuntimeError as error:
            notes.append(f"{module.NAME} was left out: {str(error).splitlines()[-1]}")
    targets = []
    if settings.simulated or data_folder("ungdc.npz") is None:
        notes.append("The UN speeches were left out: they are not at hand.")
    else:
        for engine in ours.ENGINES:
            report = run_job("fit_large", lam=engine, **chosen)
            what = f"{engine}, {settings.large_sweeps} sweeps of the UN speeches, two threads"
            reports[what] = report
            targets.append(Target(what, report["peak_megabytes"], 1_500.0, False, "MB"))
        notes.append(
            f"The UN speeches ({report['n_tokens'] / 1e6:.1f} M tokens, year and country) have at "
            f"most {settings.large_topics} topics and {settings.large_clusters} clusters."
        )
    cold, warm = (
        reports["whole fit, kernels compiled"],
        reports["whole fit, kernels from the cache"],
    )
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
            for what, report in reports.items()
        ],
        targets=[
            Target("a whole fit, kernels compiled", cold["peak_megabytes"], 400.0, False, "MB"),
            Target("a whole fit, kernels cached", warm["peak_megabytes"], 400.0, False, "MB"),
            *targets,
        ],
        notes=[
            "Each line is a process of its own, from its start to its end; the later ones hold the "
            "libraries and the corpus of the earlier ones.",
            f"A fit is `MC2(...).fit(corpus)` with {settings.fit_sweeps} sweeps, then labels and "
            f"topics. Compiling adds {cold['cpu_seconds'] - warm['cpu_seconds']:.0f} CPU-s and "
            f"{cold['peak_megabytes'] - warm['peak_megabytes']:.0f} MB, the first time "
            "only.",
            *notes,
        ],
    )
