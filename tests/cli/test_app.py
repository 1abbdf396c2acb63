"""Options of the commands."""

import re

import pytest

import mcsquared
from tests.cli.commands import invoke


def test_help_names_every_command():
    result = invoke("--help")
    assert result.exit_code == 0
    for command in ("demo", "fit", "predict", "evaluate", "reproduce"):
        assert command in result.stdout


@pytest.mark.parametrize("command", ["demo", "fit", "predict", "evaluate", "reproduce"])
def test_every_command_has_its_help(command):
    result = invoke(command, "--help")
    assert result.exit_code == 0
    assert f"mc2 {command}" in result.stdout


def test_fit_help_says_which_model_is_fitted():
    text = " ".join(invoke("fit", "--help").stdout.split())
    assert "Groups may vary within their cluster" in text
    assert "--paper" in text
    assert "the paper's" in text
    assert "--lam inf" in text


def test_fit_help_lists_every_option_in_a_section_and_shows_no_value_after_flags():
    text = invoke("fit", "--help").stdout
    titles = [line for line in text.splitlines() if line.startswith("╭─ ")]
    assert [title.split()[1] for title in titles] == [
        "Arguments",
        "Options",
        "Data",
        "Model",
        "Run",
        "Words",
    ]
    panel = text[text.index("╭─ Options") :].split("╰")[0]
    assert re.findall(r"--[a-z-]+", panel) == ["--help"]
    assert not re.search("--(paper|resume|stop-when-flat|lowercase).*(bool|BOOL)", text)


def test_paragraphs_of_help_are_filled_lines():
    lines = invoke("fit", "--help").stdout.splitlines()
    first = next(i for i, line in enumerate(lines) if "Groups may vary" in line)
    assert "(--lam inf)" in lines[first + 1]


def test_version_is_shown():
    assert invoke("--version").stdout == f"mcsquared {mcsquared.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["paint"],
        ["fit"],
        ["fit", "papers.csv", "--out", "papers.mc2"],
        ["fit", "papers.csv", "--text", "abstract", "--out", "m.mc2", "--sweeps", "many"],
        ["fit", "papers.csv", "--text", "abstract", "--out", "m.mc2", "--sweeps", "0"],
        ["predict", "papers.mc2", "new.csv"],
        ["evaluate", "papers.mc2"],
    ],
)
def test_an_incomplete_command_is_rejected(arguments):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
