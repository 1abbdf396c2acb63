"""mc2 fit: read a file, fit a model and save it."""

import math
import shlex
import sys
import warnings
from pathlib import Path
from typing import Any

import typer

from mcsquared.cli.guard import INTERRUPTED, check_output, print_message
from mcsquared.cli.levels import families_of_contexts
from mcsquared.cli.reading import (
    ContextOption,
    FileOptions,
    parse_contexts,
    read_for_fit,
    store_source,
)
from mcsquared.corpus import Corpus
from mcsquared.errors import InputError, ModelFileError
from mcsquared.estimator import MC2
from mcsquared.markup import percent, plural
from mcsquared.model.parameters import LAM, Concentration
from mcsquared.posterior.convergence import CONVERGED, NOT_CONVERGED, agreement_summary
from mcsquared.storage import check_target

N_PRINTED_TOPICS = 10
OPTION_OF_PARAMETER = {"n_sweeps": "--sweeps", "burn_in": "--burn-in", "n_chains": "--chains"}


def lam_from_options(paper: bool, lam: float | None) -> Concentration:
    """Return λ according to ``--paper`` and ``--lam``; the prior of `MC2` by default."""
    if paper and lam is not None and not math.isinf(lam):
        raise InputError(f"--paper requires --lam inf, got --lam {lam:g}")
    return math.inf if paper else LAM.default if lam is None else lam


def sweeps_from_options(
    sweeps: str, burn_in: int | None, thin: int | None, stop_when_flat: bool
) -> dict[str, Any]:
    """Return ``n_sweeps``, ``burn_in`` and ``thin`` of `MC2` according to the options."""
    if sweeps == "auto":
        others = {"--burn-in": burn_in, "--thin": thin, "--stop-when-flat": stop_when_flat or None}
        for option, value in others.items():
            if value is not None:
                raise InputError(f"{option} requires --sweeps N, got --sweeps auto")
        return {"n_sweeps": "auto", "burn_in": "auto", "thin": "auto"}
    if not sweeps.isdecimal() or int(sweeps) < 1:
        raise InputError(f"--sweeps must be an integer >= 1 or auto, got {sweeps}")
    n_sweeps = int(sweeps)
    burn_in = min(100, n_sweeps // 2) if burn_in is None else burn_in
    thin = max(1, min(5, (n_sweeps - burn_in) // 10)) if thin is None else thin
    return {"n_sweeps": n_sweeps, "burn_in": burn_in, "thin": thin}


def run(
    model: MC2,
    file: FileOptions,
    contexts: list[str],
    out: Path,
    resume: bool,
    cluster: str | None,
) -> None:
    """Read the data, fit the model and save it; options are validated before the fit."""
    checkpoint = checkpoint_path(out)
    _check_outputs(file.path, out, checkpoint, resume)
    options = parse_contexts(contexts)
    named = {option.name for option in options}
    options += [ContextOption(name) for name in dict.fromkeys(model.effects) if name not in named]
    corpus = read_for_fit(file, options)
    if isinstance(corpus, Corpus):
        typer.echo(corpus.describe(), err=True)
    model.set_params(contexts=families_of_contexts(corpus, options), checkpoint=str(checkpoint))
    warnings.filterwarnings("ignore", "interrupted after")  # reported below, with instructions
    warnings.filterwarnings("ignore", NOT_CONVERGED)  # printed at the end
    try:
        if cluster is None:
            model.fit(corpus)
        else:
            from mcsquared import distributed

            with distributed.connect(cluster) as client:
                distributed.fit(model, corpus, client=client)
    except KeyboardInterrupt:
        print_message(f"interrupted before the first kept draw; {_how_to_resume(checkpoint)}")
        raise typer.Exit(INTERRUPTED) from None
    except SystemExit as error:  # SIGTERM
        print_message(f"terminated; {_how_to_resume(checkpoint)}")
        raise typer.Exit(int(error.code or 0)) from None
    store_source(model, file, options)
    try:
        model.set_params(checkpoint=None).save(out)
    except ModelFileError as error:  # e.g. a full disk; the checkpoint contains the draws
        raise ModelFileError(f"{error}; {_how_to_resume(checkpoint)}") from None
    trace = model.posterior_.trace
    n_chains = 1 if model.n_chains == "auto" else int(model.n_chains)
    n_total = None if model.n_sweeps == "auto" else int(model.n_sweeps) * n_chains
    total = "" if n_total is None else f" of {n_total}"
    if model._stopped == "interrupted":
        kept = len(model.posterior_.cluster_of_group)
        print_message(
            f"interrupted after {len(trace)}{total} sweeps; {out} contains the {kept} draws "
            f"kept so far; {_how_to_resume(checkpoint)}"
        )
        raise typer.Exit(INTERRUPTED)
    if n_total is not None and model._stopped is None and len(trace) < n_total:
        typer.echo(f"the traces are flat after {len(trace)}{total} sweeps", err=True)
    print_result(model, out)
    converged = _print_advice(model)
    if model._stopped == "out of time" and not converged and checkpoint.exists():
        print_message(f"stopped by --max-seconds; {_how_to_resume(checkpoint)}")
    else:
        checkpoint.unlink(missing_ok=True)
    _print_next_command(file, out)


def _print_advice(model: MC2) -> bool:
    """Print what the diagnostics found; return whether a run with n_sweeps="auto" has converged."""
    posterior = model.posterior_
    advice = posterior.diagnostics().attrs["advice"]
    summaries = [note for note in posterior.notes if note.startswith((CONVERGED, NOT_CONVERGED))]
    if model.n_sweeps == "auto":
        advice = [*summaries, *(line for line in advice if "the bound" in line)]
        if any(note.startswith(NOT_CONVERGED) for note in summaries):
            advice += filter(None, [agreement_summary(posterior)])
    for line in advice:
        for parameter, option in OPTION_OF_PARAMETER.items():
            line = line.replace(parameter, option)
        print_message(f"note: {line}")
    return any(note.startswith(CONVERGED) for note in summaries)


def _print_next_command(file: FileOptions, out: Path) -> None:
    """Print the command that writes the report."""
    more = [] if file.names is None else ["--names", file.names]
    more += [] if file.encoding is None else ["--encoding", file.encoding]
    more += [] if file.separator is None else ["--sep", file.separator]
    data = [] if file.is_folder else ["--data", str(file.path), *more]
    typer.echo(f"next: {shlex.join(['mc2', 'report', str(out), *data])}")


def checkpoint_path(out: Path) -> Path:
    """Return the path of the checkpoint of a run that writes the model to ``out``."""
    return out.with_name(f"{out.name}.checkpoint")


def _check_outputs(file: Path, out: Path, checkpoint: Path, resume: bool) -> None:
    """Reject a run whose result cannot be written or would overwrite data or a checkpoint."""
    check_target(checkpoint)
    check_output(out, file)
    if resume and not checkpoint.exists():
        raise InputError(f"--resume: {checkpoint} does not exist; omit --resume to start over")
    if checkpoint.exists() and not resume:
        raise InputError(
            f"{checkpoint} is the checkpoint of an interrupted run: add --resume to continue it, "
            "or delete it to start over"
        )


def _how_to_resume(checkpoint: Path) -> str:
    """Return advice on how to continue this run."""
    if not checkpoint.exists():
        return "no checkpoint has been written yet: run the command again"
    arguments = [argument for argument in sys.argv[1:] if argument != "--resume"]
    return f"continue with: {shlex.join(['mc2', *arguments, '--resume'])}"


def print_result(model: MC2, out: Path) -> None:
    """Print the numbers of clusters, topics, unsettled groups and types, and the largest topics."""
    sizes = f"{plural(model.n_clusters_, 'cluster')}, {plural(model.n_topics_, 'topic')}"
    typer.echo(f"{sizes}, saved to {out}")
    trace = model.posterior_.trace
    in_draws = trace.loc[trace["kept"], "n_clusters"]
    low, high = in_draws.min(), in_draws.max()
    if not low <= model.n_clusters_ <= high:
        typer.echo(f"  the draws have {low} to {high} clusters each; the result is their consensus")
    n_unsettled = model.posterior_.unsettled()["group"].nunique()
    if n_unsettled:
        share = n_unsettled / model.posterior_.n_groups
        typer.echo(
            f"  {plural(n_unsettled, 'group')} ({percent(share)}) between clusters (unsettled)"
        )
    for units in model.posterior_.units:
        n_types = model.posterior_.level(units.name).n_clusters
        n_units = plural(len(units.unit_names), "unit")
        typer.echo(f"  level {units.name}: {plural(n_types, 'type')} of {n_units}")
    topics = model.posterior_.topics()
    described = topics["words" if "words" in topics else "name"]
    for row, words in zip(topics.head(N_PRINTED_TOPICS).itertuples(), described, strict=False):
        typer.echo(f"  topic {row.topic}: {row.weight:6.1%}  {words}")
    n_more, n_empty = len(topics) - N_PRINTED_TOPICS, model.n_topics_ - len(topics)
    if n_more > 0:
        near_empty = f", and {n_empty} that are near-empty" if n_empty else ""
        typer.echo(f"  and {n_more} more{near_empty}")
