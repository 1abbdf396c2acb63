"""mc2 report: write the HTML report of a model."""

from __future__ import annotations

from pathlib import Path

import typer

from mcsquared.cli.guard import check_output
from mcsquared.cli.reading import FileOptions, read_for_model
from mcsquared.estimator import MC2
from mcsquared.report import write_report


def run(model_file: Path, out: Path, data: FileOptions | None, title: str | None) -> None:
    """Read the model, and the data if given, and write the report atomically."""
    check_output(out, model_file, *(() if data is None else (data.path,)))
    model = MC2.load(model_file)
    corpus = None if data is None else read_for_model(model, data, known=True)
    write_report(model, out, corpus=corpus, title=title or model_file.stem)
    size = out.stat().st_size / 1e6
    typer.echo(
        f"{model.n_clusters_} clusters and {model.n_topics_} topics of "
        f"{model.posterior_.n_groups:,} groups, {size:.1f} MB, written to {out}"
    )
    typer.echo(f"open in a browser: {out.resolve().as_uri()}")
