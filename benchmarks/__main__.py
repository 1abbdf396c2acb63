"""Ask the questions, show the answers, write them down: ``python -m benchmarks [QUESTION ...]``."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

from rich.console import Console

from benchmarks.machine import describe, occasion
from benchmarks.measure import ROOT
from benchmarks.plots import draw_curves
from benchmarks.predictions import write_page
from benchmarks.questions import QUESTIONS
from benchmarks.settings import Settings
from benchmarks.tables import Answer, Unavailable, markdown, picture_of

RESULTS = ROOT / "benchmarks" / "results" / "latest.json"
PAGE = ROOT / "docs" / "benchmarks.md"


def main() -> None:
    arguments = _arguments()
    settings = replace(Settings(), simulated=arguments.simulated)
    if arguments.quick:
        settings = settings.quick()
    # Tables are wide; a log file has no width of its own.
    console = Console(width=None if Console().is_terminal else 132)
    left_out = []
    asked = arguments.questions or list(QUESTIONS)
    for name in asked:
        with console.status(f"asking about {name}"):
            try:
                answer = replace(QUESTIONS[name](settings), run=occasion(_command(arguments)))
            except Unavailable as reason:
                console.print(f"{name} is left out: {reason}.\n", highlight=False)
                left_out.append(name)
                continue
        console.print(answer.for_terminal())
        for remark in (*map(str, answer.targets), *answer.notes):
            console.print(f"  {remark}", highlight=False)
        console.print()
        if not arguments.quick:
            write({name: answer})  # one by one: a question that fails takes no other with it
    if arguments.quick:
        console.print("Shown only: small sizes are nothing to compare with later.")
    elif len(left_out) < len(asked):
        console.print(f"Written to {RESULTS.relative_to(ROOT)} and {PAGE.relative_to(ROOT)}.")


def write(answers: dict[str, Answer]) -> None:
    """Write the figures as JSON and as a page; answers to other questions stay.

    The page has one machine. What was measured on another, or with other versions, says so with its
    figures; an answer that says so itself leaves the page's machine as it is.
    """
    machine, pictured = describe(), list(answers)
    if RESULTS.exists():
        earlier = json.loads(RESULTS.read_text(encoding="utf-8"))
        kept = {name: Answer.from_dict(entry) for name, entry in earlier["answers"].items()}
        if all(answer.machine for answer in answers.values()):
            machine = earlier["machine"]
        if earlier["machine"] != machine:
            kept = {name: measured_on(earlier["machine"], answer) for name, answer in kept.items()}
        answers = {name: as_of(machine, answer) for name, answer in (kept | answers).items()}
    answers = {name: answers[name] for name in QUESTIONS if name in answers}
    record = {
        "machine": machine,
        "answers": {name: answer.to_dict() for name, answer in answers.items()},
    }
    for name, answer in answers.items():
        if answer.curves and name in pictured:
            draw_curves(answer, PAGE.parent / picture_of(name))
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(markdown(machine, answers), encoding="utf-8")
    write_page(PAGE.parent / "scaling.md", record["answers"])


def measured_on(machine: dict[str, str], answer: Answer) -> Answer:
    """Return the answer with the machine that was its page's, unless it has one of its own."""
    return answer if answer.machine else replace(answer, machine=machine)


def as_of(machine: dict[str, str], answer: Answer) -> Answer:
    """Return the answer without its machine if that is the page's."""
    return replace(answer, machine={}) if answer.machine == machine else answer


def _command(arguments: argparse.Namespace) -> str:
    options = ["--simulated"] if arguments.simulated else []
    return " ".join(["python -m benchmarks", *arguments.questions, *options])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help=", ".join(QUESTIONS))
    parser.add_argument("--quick", action="store_true", help="small sizes: does it all run?")
    parser.add_argument(
        "--simulated",
        action="store_true",
        help="a simulated corpus even where the data are at hand",
    )
    arguments = parser.parse_args()
    for name in arguments.questions:
        if name not in QUESTIONS:
            parser.error(f"question {name!r} is unknown; one of {', '.join(QUESTIONS)} is wanted")
    return arguments


if __name__ == "__main__":
    main()
