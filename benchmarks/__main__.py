"""Run benchmarks, print and write the results: ``python -m benchmarks [QUESTION ...]``."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

from rich.console import Console

from benchmarks.machine import describe, describe_run
from benchmarks.measure import ROOT
from benchmarks.plots import draw_curves
from benchmarks.predictions import write_page
from benchmarks.questions import QUESTIONS
from benchmarks.settings import Settings
from benchmarks.tables import Result, Unavailable, markdown, plot_path

RESULTS = ROOT / "benchmarks" / "results" / "latest.json"
PAGE = ROOT / "docs" / "benchmarks.md"


def main() -> None:
    arguments = _arguments()
    settings = replace(Settings(), simulated=arguments.simulated)
    if arguments.quick:
        settings = settings.quick()
    # Tables are wide, and a log file has no width.
    console = Console(width=None if Console().is_terminal else 132)
    skipped = []
    names = arguments.questions or list(QUESTIONS)
    for name in names:
        with console.status(f"running {name}"):
            try:
                result = replace(QUESTIONS[name](settings), run=describe_run(_command(arguments)))
            except Unavailable as reason:
                console.print(f"{name} was skipped: {reason}.\n", highlight=False)
                skipped.append(name)
                continue
        console.print(result.for_terminal())
        for remark in (*map(str, result.targets), *result.notes):
            console.print(f"  {remark}", highlight=False)
        console.print()
        if not arguments.quick:
            write({name: result})  # one by one, so that a failure does not lose other results
    if arguments.quick:
        console.print("Nothing was written, because the sizes are too small to compare.")
    elif len(skipped) < len(names):
        console.print(f"Written to {RESULTS.relative_to(ROOT)} and {PAGE.relative_to(ROOT)}.")


def write(results: dict[str, Result]) -> None:
    """Write the figures as JSON and as a page; results of other benchmarks are kept.

    The page describes one machine. Results from another one, or with other versions, include their
    own description; a result with a description leaves that of the page unchanged.
    """
    machine, updated = describe(), list(results)
    if RESULTS.exists():
        earlier = json.loads(RESULTS.read_text(encoding="utf-8"))
        kept = {name: Result.from_dict(entry) for name, entry in earlier["results"].items()}
        if all(result.machine for result in results.values()):
            machine = earlier["machine"]
        if earlier["machine"] != machine:
            kept = {name: with_machine(earlier["machine"], result) for name, result in kept.items()}
        results = {
            name: without_machine(machine, result) for name, result in (kept | results).items()
        }
    results = {name: results[name] for name in QUESTIONS if name in results}
    record = {
        "machine": machine,
        "results": {name: result.to_dict() for name, result in results.items()},
    }
    for name, result in results.items():
        if result.curves and name in updated:
            draw_curves(result, PAGE.parent / plot_path(name))
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(markdown(machine, results), encoding="utf-8")
    write_page(PAGE.parent / "scaling.md", record["results"])


def with_machine(machine: dict[str, str], result: Result) -> Result:
    """Return the result with a description of its machine, unless it has one."""
    return result if result.machine else replace(result, machine=machine)


def without_machine(machine: dict[str, str], result: Result) -> Result:
    """Return the result without the description of its machine if it equals that of the page."""
    return replace(result, machine={}) if result.machine == machine else result


def _command(arguments: argparse.Namespace) -> str:
    options = ["--simulated"] if arguments.simulated else []
    return " ".join(["python -m benchmarks", *arguments.questions, *options])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help=", ".join(QUESTIONS))
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to check that everything runs"
    )
    parser.add_argument(
        "--simulated",
        action="store_true",
        help="use a simulated corpus even if the data are available",
    )
    arguments = parser.parse_args()
    for name in arguments.questions:
        if name not in QUESTIONS:
            parser.error(f"QUESTION must be one of {', '.join(QUESTIONS)}, got {name!r}")
    return arguments


if __name__ == "__main__":
    main()
