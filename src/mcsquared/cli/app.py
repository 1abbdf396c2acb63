"""Commands, their options and help texts."""

import inspect
from collections.abc import Callable
from copy import copy
from functools import wraps
from pathlib import Path
from typing import Any

import typer
from typer import Argument, Option

from mcsquared.cli.guard import readable_errors
from mcsquared.model.parameters import LAM
from mcsquared.schedule import DEFAULT_SWEEPS, FIRST_STAGE, MAX_CHAINS, MAX_SWEEPS, MIN_CHAINS

app = typer.Typer(
    name="mc2",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Sections of the help of `mc2 fit`, with their options.
FIT_PANELS = {
    "Data": "text context names level level_context long value sep encoding memory out",
    "Words": "stop_words min_df max_df ngrams token_pattern lowercase keep",
    "Model": "effect paper lam",
    "Run": "sweeps burn_in thin max_seconds stop_when_flat chains seed jobs device cluster resume "
    "checkpoint_every",
}

# Options of several commands.
MODEL = Argument(metavar="MODEL", help="Model file written by `mc2 fit`.")
TEXT_COLUMN = Option(None, metavar="COLUMN", help="Column of the text (default: as in the fit).")
GROUP_NAMES = Option(None, metavar="COLUMN", help="Column of group names.")
ENCODING = Option(None, metavar="NAME", help="Encoding of a text file (default: detected).")
SEPARATOR = Option(None, metavar="CHAR", help="Separator of a CSV file (default: detected).")
MEMORY = Option("2GB", metavar="SIZE", help="Memory limit if FILE is a folder.")
LEVEL_CONTEXTS = Option(
    None,
    metavar="LEVEL=FILE[:COLUMNS]",
    help="Contexts of the units of a level, such as country=units.csv:gdp.",
)
SEED = Option(0, min=0, help="Random seed; the same seed gives the same result.")


def main() -> None:
    """Run the command given on the command line."""
    app()


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Register a command whose errors are printed as one sentence."""
    _lay_out_help(function)

    @wraps(function)
    def guarded(**arguments: Any) -> None:
        with readable_errors():
            function(**arguments)

    # Paragraphs without line breaks, which the help would keep.
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    return app.command(help="\n\n".join(" ".join(text.split()) for text in paragraphs))(guarded)


def _lay_out_help(function: Callable[..., None]) -> None:
    """Divide the options of `mc2 fit` into sections, and shorten the column of types."""
    parameters = inspect.signature(function).parameters.values()
    panel_of = {name: title for title, names in FIT_PANELS.items() for name in names.split()}
    defaults = []
    for parameter in parameters:
        option = copy(parameter.default)  # several commands share an option
        if option.metavar is None and parameter.annotation is bool:
            option.metavar = ""  # a flag has no value
        elif option.metavar is None and parameter.annotation in (int, int | None):
            option.metavar = "N"
        if function.__name__ == "fit" and option.rich_help_panel is None:
            option.rich_help_panel = panel_of.get(parameter.name)
        defaults.append(option)
    function.__defaults__ = tuple(defaults)


def _version(requested: bool) -> None:
    if requested:
        from mcsquared import __version__

        typer.echo(f"mcsquared {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = Option(
        False, "--version", metavar="", callback=_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Find clusters of groups and topics of their content jointly, using the groups' contexts."""


@command
def demo(
    name: str = Argument("letters", metavar="letters|stdlib", help="Data set."),
    seed: int = SEED,
    out: Path | None = Option(
        None, metavar="HTML", help="Path of the report (default: mc2-demo-NAME.html)."
    ),
    browser: bool = Option(True, help="Open the report if standard output is a terminal."),
) -> None:
    """Fit a model to example data and write a report, in under a minute.

    letters: the paper's simulation study. stdlib: the modules of Python's standard library.
    """
    from mcsquared.cli import demo as implementation

    implementation.run(name, seed, out, browser)


@command
def fit(
    file: Path = Argument(
        metavar="FILE", help="CSV, TSV, JSONL or Parquet file, or a folder of Parquet files."
    ),
    text: str | None = Option(
        None, metavar="COLUMN", help="Column of the text, of lists of words or of vectors."
    ),
    out: Path | None = Option(
        None, metavar="MODEL", help="Path of the model (default: FILE.mc2 in the current folder)."
    ),
    context: list[str] | None = Option(
        None,
        metavar="COLUMN[:FAMILY]",
        help="Context column; may be repeated: year, year:gaussian, authors:bag (the separator, "
        "';', ',' or '|', is detected), authors:bag:|.",
    ),
    effect: list[str] | None = Option(
        None,
        metavar="COLUMN",
        help="Context that acts on topics; may be repeated (its family: --context COLUMN:FAMILY).",
    ),
    level: list[str] | None = Option(
        None,
        metavar="COLUMN",
        help="Level above groups: column of the unit of each group, such as its country; may be "
        "repeated, the lowest level first.",
    ),
    level_context: list[str] | None = LEVEL_CONTEXTS,
    paper: bool = Option(False, "--paper", help="Fit the paper's model, --lam inf."),
    lam: float | None = Option(
        None, metavar="X", help=f"{LAM.meaning.capitalize()}; inf: the paper's model."
    ),
    sweeps: str = Option(
        str(DEFAULT_SWEEPS),
        metavar="N|auto",
        help="Number of sweeps, including burn-in; auto: until the chains have converged, at most "
        f"{FIRST_STAGE} to {MAX_SWEEPS}, depending on the size of the data, or as many as "
        "--max-seconds allows.",
    ),
    burn_in: int | None = Option(
        None,
        min=0,
        help="Sweeps before the first kept draw (default: 100, at most half of the sweeps).",
    ),
    thin: int | None = Option(
        None, min=1, help="Keep every THIN-th draw (default: 5, less in short runs)."
    ),
    max_seconds: float | None = Option(
        None,
        metavar="S",
        help="Time limit; without --chains, chains that cannot start within it are left out.",
    ),
    checkpoint_every: float | None = Option(
        None, metavar="S", help="Seconds between checkpoints (default: 20)."
    ),
    seed: int = SEED,
    chains: int | None = Option(
        None,
        min=1,
        help=f"Number of chains (default: {MIN_CHAINS} to {MAX_CHAINS}, depending on the size of "
        "the data, with --sweeps auto; 1 otherwise).",
    ),
    jobs: int | None = Option(None, metavar="N", help="Number of cores; -1: all (default: 1)."),
    device: str = Option(
        "cpu",
        metavar="cpu|cuda",
        help="Device that runs the sampler. A corpus on disk or larger than the memory of a GPU is "
        "copied to it in parts.",
    ),
    cluster: str | None = Option(
        None, metavar="ADDRESS", help="Dask scheduler whose workers run the sampler."
    ),
    resume: bool = Option(False, "--resume", help="Continue an interrupted run."),
    stop_when_flat: bool = Option(
        False, "--stop-when-flat", help="Stop a chain early when its traces are flat."
    ),
    names: str | None = GROUP_NAMES,
    long: str | None = Option(
        None,
        metavar="GROUP",
        help="Column of the group, in a file with one row per token.",
    ),
    value: list[str] | None = Option(
        None,
        metavar="COLUMN",
        help="With --long: column of words, or columns of numbers; may be repeated.",
    ),
    stop_words: str | None = Option(
        None,
        metavar="LANG|FILE",
        help="Words to drop: a language (english, german, ...), a file of words, or none "
        "(default: function words of the detected language, above 100 texts).",
    ),
    min_df: str | None = Option(
        None,
        metavar="N",
        help="Drop words in fewer than N texts (5), or in less than this share of them (0.01).",
    ),
    max_df: str | None = Option(
        None,
        metavar="N",
        help="Drop words in more than N texts (500), or in more than this share of them (0.5).",
    ),
    ngrams: int | None = Option(
        None, min=1, metavar="N", help="Count sequences of up to N words as well."
    ),
    token_pattern: str | None = Option(
        None, metavar="REGEX", help="Regular expression for words (default: two or more letters)."
    ),
    lowercase: bool = Option(True, help="Convert texts to lower case."),
    keep: list[str] | None = Option(
        None, metavar="hashtags|emojis", help="Keep these as words; may be repeated."
    ),
    sep: str | None = SEPARATOR,
    encoding: str | None = ENCODING,
    memory: str = MEMORY,
) -> None:
    """Fit a model to a file and save it.

    Groups may vary within their cluster; how much is learned from the data. With --paper (--lam
    inf) they do not vary, as in the paper.

    After Ctrl-C or SIGTERM, or when --max-seconds has ended the run, the same command with --resume
    continues it.
    """
    from mcsquared.callbacks import StopWhenFlat
    from mcsquared.cli import fit as implementation
    from mcsquared.cli.reading import FileOptions, parse_text_options
    from mcsquared.estimator import MC2
    from mcsquared.storage import check_target, locked

    model = MC2(
        lam=implementation.lam_from_options(paper, lam),
        **implementation.sweeps_from_options(sweeps, burn_in, thin, stop_when_flat),
        max_seconds=max_seconds,
        checkpoint_every=checkpoint_every,
        random_state=seed,
        n_chains="auto" if chains is None else chains,
        n_jobs=jobs,
        device=device,
        callbacks=(StopWhenFlat(),) if stop_when_flat else (),
        effects=tuple(effect or ()),
    )
    options = FileOptions(
        file,
        text,
        names,
        encoding,
        memory,
        text_options=parse_text_options(
            stop_words, min_df, max_df, ngrams, token_pattern, lowercase, keep
        ),
        separator=sep,
        group=long,
        value=tuple(value or ()),
        levels=tuple(level or ()),
        level_contexts=tuple(level_context or ()),
    )
    path = Path(f"{file.stem}.mc2") if out is None else out
    # First, because the names of the lock and the checkpoint are derived from it.
    check_target(path)
    with locked(path):
        implementation.run(model, options, context or [], path, resume, cluster)


@command
def predict(
    model: Path = MODEL,
    file: Path = Argument(metavar="FILE", help="New groups, in any format of `mc2 fit`."),
    out: Path | None = Option(
        None, metavar="CSV", help="Path of the table (default: FILE-clusters.csv)."
    ),
    text: str | None = TEXT_COLUMN,
    names: str | None = GROUP_NAMES,
    sep: str | None = SEPARATOR,
    encoding: str | None = ENCODING,
    memory: str = MEMORY,
    level_context: list[str] | None = LEVEL_CONTEXTS,
    raw: bool = Option(
        False, "--raw", help="Do not escape names that a spreadsheet would run as formulas."
    ),
) -> None:
    """Write the cluster, its probability and the topic shares of each new group to a CSV file."""
    from mcsquared.cli import fitted
    from mcsquared.cli.reading import FileOptions

    table = Path(f"{file.stem}-clusters.csv") if out is None else out
    level_contexts = tuple(level_context or ())
    options = FileOptions(
        file, text, names, encoding, memory, separator=sep, level_contexts=level_contexts
    )
    fitted.predict(model, options, table, raw)


@command
def evaluate(
    model: Path = MODEL,
    file: Path = Argument(metavar="FILE", help="Held-out groups."),
    text: str | None = TEXT_COLUMN,
    method: list[str] | None = Option(
        None,
        metavar="NAME",
        help="completion, exact, left_to_right or printed; may be repeated (default: completion, "
        "and exact for lam=inf).",
    ),
    given_contexts: bool = Option(
        False, "--given-contexts", help="Condition on the contexts of the groups."
    ),
    labels: str | None = Option(
        None,
        metavar="COLUMN",
        help="Column of known classes, which are compared with the clusters.",
    ),
    training: Path | None = Option(
        None, metavar="FILE", help="Training data: print their perplexity as well."
    ),
    level_context: list[str] | None = LEVEL_CONTEXTS,
    sep: str | None = SEPARATOR,
    encoding: str | None = ENCODING,
) -> None:
    """Print the perplexity of held-out groups, and clustering scores if classes are known."""
    from mcsquared.cli import fitted
    from mcsquared.cli.reading import FileOptions

    level_contexts = tuple(level_context or ())
    options = FileOptions(
        file, text, encoding=encoding, separator=sep, level_contexts=level_contexts
    )
    fitted.evaluate(model, options, method or [], given_contexts, labels, training)


@command
def reproduce(
    names: list[str] = Argument(
        metavar="NAME...",
        help="letters, table1, images, contexts-alone, missing, topic-over-time, length, "
        "correlation, or all.",
    ),
    data: Path | None = Option(
        None, metavar="DIR", help="Folder of the data sets (default: $MCSQUARED_DATA)."
    ),
    scale: str = Option("full", metavar="full|tiny", help="tiny takes seconds and needs no data."),
    seeds: int | None = Option(
        None, min=1, metavar="N", help="Number of seeds (default: that of the experiment)."
    ),
    jobs: int | None = Option(None, min=1, metavar="N", help="Number of cores (default: all)."),
    sets: list[str] | None = Option(
        None, "--set", metavar="NAME", help="Data set to run on; may be repeated."
    ),
    out: Path = Option(Path("reproduction"), metavar="DIR", help="Folder for results and figures."),
    redraw: bool = Option(
        False, "--redraw", help="Recreate tables and figures from existing results."
    ),
    resume: bool = Option(False, "--resume", help="Reuse finished seeds of an interrupted run."),
) -> None:
    """Run the paper's experiments; write tables and figures that include the paper's numbers."""
    from mcsquared.cli import reproduce as implementation

    options = implementation.Options(
        data, scale, seeds, jobs, tuple(sets or ()), out, redraw, resume
    )
    implementation.run(names, options)


@command
def report(
    model: Path = MODEL,
    out: Path | None = Option(
        None, metavar="HTML", help="Path of the report (default: MODEL.html in the current folder)."
    ),
    data: Path | None = Option(
        None, metavar="FILE", help="Training data; adds the texts and topics of each group."
    ),
    title: str | None = Option(None, help="Title of the report."),
    labels: Path | None = Option(
        None,
        metavar="JSON",
        help="Names of clusters and topics, saved from a report; they are stored in the model.",
    ),
    text: str | None = TEXT_COLUMN,
    names: str | None = GROUP_NAMES,
    sep: str | None = SEPARATOR,
    encoding: str | None = ENCODING,
) -> None:
    """Write an HTML report with an overview, a map, clusters, topics and groups."""
    from mcsquared.cli import fitted
    from mcsquared.cli.reading import FileOptions

    page = Path(f"{model.stem}.html") if out is None else out
    file = None if data is None else FileOptions(data, text, names, encoding, separator=sep)
    fitted.report(model, file, page, title or model.stem, labels)
