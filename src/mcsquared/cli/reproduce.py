"""mc2 reproduce: run the paper's experiments; write tables, figures and results."""

import json
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from mcsquared.cli.guard import BAD_INPUT, INTERRUPTED, print_message
from mcsquared.errors import InputError
from mcsquared.storage import write_text

FILE_WIDTH = 180  # characters per line of a table that is not printed to a terminal


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    data: Path | None  # folder of the data sets; None: $MCSQUARED_DATA
    scale: str  # "full" or "tiny"
    seeds: int | None  # None: the default of the experiment, 1 at tiny scale
    jobs: int | None  # None: all cores
    sets: tuple[str, ...]  # data sets that replace those of the experiment
    out: Path  # parent of the folders ``results`` and ``figures``
    redraw: bool = False  # recreate tables and figures from existing results
    resume: bool = False  # reuse the finished seeds of an interrupted run

    def command(self, name: str, n_seeds: int) -> str:
        """Return the command that reproduces these results, without the folder of the data."""
        parts = ["mc2 reproduce", name, f"--seeds {n_seeds}"]
        if self.scale != "full":
            parts.append(f"--scale {self.scale}")
        parts += [f"--set {data_set}" for data_set in self.sets]
        return " ".join(parts)


def run(names: list[str], options: Options) -> None:
    """Run experiments one after another; an experiment that cannot run does not stop the others."""
    chosen = list(experiments().NAMES) if "all" in names else names
    for name in chosen:
        experiments().find(name)  # raises an error for an unknown name
    done: list[str] = []
    failed = False
    for name in chosen:
        try:
            _reproduce(name, options)
            done.append(name)
        except InputError as error:
            failed = True
            print_message(f"{name}: {error}")
        except KeyboardInterrupt:
            print_message(
                f"interrupted; written: {', '.join(done) or 'nothing'}; --resume reuses the "
                f"finished seeds of {name}"
            )
            raise typer.Exit(INTERRUPTED) from None
    if failed:
        raise typer.Exit(BAD_INPUT)


def experiments() -> Any:
    """Return the experiments package: a subpackage in a wheel, a folder in a checkout."""
    if find_spec("mcsquared.experiments") is not None:
        return import_module("mcsquared.experiments")
    checkout = Path(__file__).resolve().parents[3]
    if not (checkout / "experiments" / "running.py").is_file():
        raise InputError("the experiments are not installed; install mcsquared from a wheel")
    # The processes that run the seeds import the package by name and inherit the path.
    if str(checkout) not in sys.path:
        sys.path.insert(0, str(checkout))
    return import_module("experiments")


def _submodule(name: str) -> Any:
    """Return a module of the experiments package."""
    return import_module(f"{experiments().__name__}.{name}")


def _reproduce(name: str, options: Options) -> None:
    """Run an experiment, or read its results; print its tables and write its figures."""
    results = options.out / "results" / f"{name}.json"
    record = _read(results) if options.redraw else _run(name, options, results)
    write_text(results.with_suffix(".md"), _submodule("summary").markdown(record))
    _print_tables(record)
    figures = _save_figures(name, record, options.out / "figures")
    typer.echo(f"{name}: {', '.join(str(path) for path in [results, *figures])}\n")


def _run(name: str, options: Options, results: Path) -> dict[str, Any]:
    """Run an experiment and write its record; each seed is stored when it is finished."""
    from joblib import effective_n_jobs

    running = _submodule("running")
    setting = running.Setting(options.scale, options.data, chosen_sets=options.sets)
    n_seeds = options.seeds or (1 if setting.tiny else experiments().find(name).SEEDS)
    path = results.with_suffix(".unfinished.jsonl")
    finished = _submodule("unfinished").FinishedSeeds(path, name, setting)
    earlier = finished.read(range(n_seeds)) if options.resume else []

    def store(outcome: Any) -> None:
        finished.add(outcome)
        typer.echo(f"{name}: seed {outcome.seed}: {outcome.seconds:.1f} s", err=True)

    record: dict[str, Any] = running.run_experiment(
        name,
        setting,
        range(n_seeds),
        options.jobs or effective_n_jobs(-1),
        options.command(name, n_seeds),
        store,
        earlier,
    )
    results.parent.mkdir(parents=True, exist_ok=True)
    write_text(results, running.record_text(record))
    finished.remove()
    return record


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(f"--redraw requires existing results, but {path} does not exist")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not a valid result file: {error}") from None
    if not isinstance(record, dict) or "summary" not in record:
        raise InputError(f"{path} is not a result file of an experiment")
    return record


def _print_tables(record: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console() if sys.stdout.isatty() else Console(width=FILE_WIDTH)
    for caption, columns, rows in _submodule("summary").tables(record):
        table = Table(title=caption)
        for column in columns:
            table.add_column(column, justify="left" if column in record["keys"] else "right")
        for row in rows:
            table.add_row(*row)
        console.print(table, markup=False)


def _save_figures(name: str, record: dict[str, Any], folder: Path) -> list[Path]:
    """Plot the figures of a record, if matplotlib is installed; return their paths."""
    if find_spec("matplotlib") is None:
        print_message(f"note: {name}: figures require matplotlib: pip install 'mcsquared[plot]'")
        return []
    paths = []
    for key, figure in experiments().find(name).figures(record).items():
        folder.mkdir(parents=True, exist_ok=True)
        paths.append(folder / f"{name}-{key}.png")
        figure.savefig(paths[-1], dpi=130, bbox_inches="tight", metadata={"Software": None})
    return paths
