"""Commands, their options and help texts."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from mcsquared.cli.guard import check_output, clear_errors
from mcsquared.model.parameters import LAM

app = typer.Typer(
    name="mc2",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ModelFile = Annotated[Path, Argument(metavar="MODEL", help="A model that `mc2 fit` wrote.")]
Seed = Annotated[int, Option(min=0, help="The same seed gives the same result.")]
TextColumn = Annotated[
    str | None,
    Option("--text", metavar="COLUMN", help="The text; the column of the fit unless given."),
]
Names = Annotated[str | None, Option(metavar="COLUMN", help="A column that names the groups.")]
Encoding = Annotated[str, Option(metavar="NAME", help="Of a CSV, TSV or JSONL file.")]
Memory = Annotated[str, Option(metavar="SIZE", help="Limit, where FILE is a folder.")]


def main() -> None:
    """Run the command that the arguments name."""
    app()


def _version(requested: bool) -> None:
    if requested:
        from mcsquared import __version__

        typer.echo(f"mcsquared {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Find clusters of groups and topics of their content together, guided by their contexts."""


@app.command()
def demo(
    name: Annotated[str, Argument(metavar="[letters|stdlib]", help="Which data.")] = "letters",
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        Option(metavar="HTML", help="Where the report goes; mc2-demo-NAME.html by default."),
    ] = None,
    browser: Annotated[
        bool, Option("--browser/--no-browser", help="Open the report, on a terminal.")
    ] = True,
) -> None:
    """Go from data to result and report in under a minute.

    letters: the paper's synthetic study. stdlib: the modules of this Python's standard library.
    """
    with clear_errors():
        from mcsquared.cli import demo as command

        command.run(name, seed, out, browser)


@app.command()
def fit(
    file: Annotated[
        Path,
        Argument(metavar="FILE", help="CSV, TSV, JSONL or Parquet; or a folder of Parquet files."),
    ],
    text: Annotated[
        str | None,
        Option(metavar="COLUMN", help="The column that holds the text.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, Option(metavar="MODEL", help="Where the model goes; FILE.mc2 here by default.")
    ] = None,
    context: Annotated[
        list[str] | None,
        Option(
            metavar="COLUMN[:FAMILY]",
            help="A context, any number of times: year, year:gaussian, authors:bag (split at ';', "
            "or at ',' where there is none), authors:bag:|.",
        ),
    ] = None,
    paper: Annotated[bool, Option("--paper", help="The paper's model: --lam inf.")] = False,
    lam: Annotated[
        float | None,
        Option(metavar="X", help=f"{LAM.meaning.capitalize()}; inf: the paper's model."),
    ] = None,
    sweeps: Annotated[int, Option(min=1, help="Sweeps in all.")] = 600,
    burn_in: Annotated[
        int | None,
        Option(
            min=0,
            help="Sweeps before the first kept draw; 100, or half of the sweeps if that is less.",
        ),
    ] = None,
    thin: Annotated[
        int | None, Option(min=1, help="Keep every THIN-th draw; 5, or less in a short run.")
    ] = None,
    seed: Seed = 0,
    chains: Annotated[int, Option(min=1, help="Independent chains.")] = 1,
    jobs: Annotated[int | None, Option(metavar="N", help="Number of cores.")] = None,
    device: Annotated[str, Option(metavar="cpu|cuda", help="Device of the sampler.")] = "cpu",
    cluster: Annotated[
        str | None,
        Option(metavar="ADDRESS", help="Of a Dask scheduler whose workers hold the groups."),
    ] = None,
    resume: Annotated[bool, Option("--resume", help="Continue an interrupted run.")] = False,
    stop_when_flat: Annotated[
        bool, Option("--stop-when-flat", help="End a chain early when its traces are flat.")
    ] = False,
    names: Names = None,
    encoding: Encoding = "utf-8",
    memory: Memory = "2GB",
) -> None:
    """Fit a model to a file and save it.

    Groups may vary within their cluster; how much is learned from the data. --paper (--lam inf) is
    the paper's model, in which they may not.

    After Ctrl-C, the same command with --resume continues the run.
    """
    with clear_errors():
        from mcsquared.callbacks import StopWhenFlat
        from mcsquared.cli import fit as command
        from mcsquared.cli.reading import FileOptions
        from mcsquared.estimator import MC2

        burn_in = min(100, sweeps // 2) if burn_in is None else burn_in
        model = MC2(
            lam=command.chosen_lam(paper, lam),
            n_sweeps=sweeps,
            burn_in=burn_in,
            thin=max(1, min(5, (sweeps - burn_in) // 10)) if thin is None else thin,
            random_state=seed,
            n_chains=chains,
            n_jobs=jobs,
            device=device,
            callbacks=(StopWhenFlat(),) if stop_when_flat else (),
        )
        options = FileOptions(file, text, names, encoding, memory)
        path = Path(f"{file.stem}.mc2") if out is None else out
        command.run(model, options, context or [], path, resume, cluster)


@app.command()
def predict(
    model: ModelFile,
    file: Annotated[Path, Argument(metavar="FILE", help="New groups, in any format of fit.")],
    out: Annotated[
        Path | None,
        Option(metavar="CSV", help="Where the table goes; FILE-clusters.csv by default."),
    ] = None,
    text: TextColumn = None,
    names: Names = None,
    encoding: Encoding = "utf-8",
    memory: Memory = "2GB",
) -> None:
    """Write the cluster, its probability and the topic shares of each new group to a CSV file."""
    with clear_errors():
        from mcsquared.cli import predict as command
        from mcsquared.cli.reading import FileOptions

        table = Path(f"{file.stem}-clusters.csv") if out is None else out
        command.run(model, FileOptions(file, text, names, encoding, memory), table)


@app.command()
def evaluate(
    model: ModelFile,
    file: Annotated[Path, Argument(metavar="FILE", help="Held-out groups.")],
    text: TextColumn = None,
    method: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="completion, exact, left_to_right or printed, any number of times; unless given, "
            "completion and the second or third, whichever suits the model.",
        ),
    ] = None,
    given_contexts: Annotated[
        bool, Option("--given-contexts", help="Use the contexts of the groups.")
    ] = False,
    labels: Annotated[
        str | None, Option(metavar="COLUMN", help="True classes, to score the clusters with.")
    ] = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Print the perplexity of held-out groups, and clustering scores where labels are known."""
    with clear_errors():
        from mcsquared.cli import evaluate as command
        from mcsquared.cli.reading import FileOptions

        options = FileOptions(file, text, encoding=encoding)
        command.run(model, options, method or [], given_contexts, labels)


@app.command()
def reproduce(
    names: Annotated[
        list[str],
        Argument(
            metavar="NAME...",
            help="letters, table1, images, missing, topic-over-time, length, correlation, or all.",
        ),
    ],
    data: Annotated[
        Path | None, Option(metavar="DIR", help="The real sets; unless given, $MCSQUARED_DATA.")
    ] = None,
    scale: Annotated[
        str, Option(metavar="full|tiny", help="tiny: seconds, without any data.")
    ] = "full",
    seeds: Annotated[
        int | None, Option(min=1, metavar="N", help="Repeats; the experiment's own number.")
    ] = None,
    jobs: Annotated[int | None, Option(min=1, metavar="N", help="Cores to use.")] = None,
    sets: Annotated[
        list[str] | None,
        Option("--set", metavar="NAME", help="Run on this set, any number of times."),
    ] = None,
    out: Annotated[Path, Option(metavar="DIR", help="Where results and figures go.")] = Path(
        "reproduction"
    ),
    redraw: Annotated[
        bool, Option("--redraw", help="Draw tables and figures of existing results again.")
    ] = False,
    resume: Annotated[
        bool, Option("--resume", help="Reuse the finished seeds of an interrupted run.")
    ] = False,
) -> None:
    """Run the paper's experiments; write tables and figures next to the paper's numbers."""
    with clear_errors():
        from mcsquared.cli import reproduce as command

        options = command.Options(data, scale, seeds, jobs, tuple(sets or ()), out, redraw, resume)
        command.run(names, options)


@app.command()
def report(
    model: ModelFile,
    out: Annotated[
        Path | None, Option(metavar="HTML", help="Where the page goes; MODEL.html here by default.")
    ] = None,
    data: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="The file that the model was fitted to; adds the topics of each group.",
        ),
    ] = None,
    title: Annotated[str | None, Option(help="Title of the page.")] = None,
    text: TextColumn = None,
    names: Names = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Write an HTML report: overview, map, clusters, topics, groups."""
    with clear_errors():
        from mcsquared.cli.reading import FileOptions, read_for_model
        from mcsquared.estimator import MC2
        from mcsquared.report import write_report

        page = Path(f"{model.stem}.html") if out is None else out
        check_output(page, model, *([] if data is None else [data]))
        fitted, corpus = MC2.load(model), None
        if data is not None:
            file = FileOptions(data, text, names, encoding)
            corpus = read_for_model(fitted, file, known=True)
        write_report(fitted, page, corpus=corpus, title=title or model.stem)
        typer.echo(
            f"{fitted.n_clusters_} clusters and {fitted.n_topics_} topics of "
            f"{fitted.posterior_.n_groups:,} groups, {page.stat().st_size / 1e6:.1f} MB, "
            f"written to {page}\nopen in a browser: {page.resolve().as_uri()}"
        )
