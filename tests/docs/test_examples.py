"""Every public name has an example in its docstring, and the examples are true."""

import doctest
import email
import importlib
import inspect
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mcsquared
from mcsquared.families import registry
from tests.docs.public_names import examples, public_attributes, public_objects, without_example

NAMES = public_objects()
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(autouse=True)
def _isolated(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.delenv("MCSQUARED_DATA", raising=False)
    monkeypatch.setattr(registry, "_FAMILIES", dict(registry._FAMILIES))
    # One package serves as the standard library, which takes seconds to read.
    library = importlib.import_module("mcsquared.datasets.standard_library")
    paths = SimpleNamespace(get_paths=lambda: {"stdlib": Path(email.__file__).parent})
    monkeypatch.setattr(library, "sysconfig", paths)
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def run(test: doctest.DocTest, names: dict[str, object]) -> dict[str, object]:
    """Run examples with some names known; return the names that are known after them."""
    test.globs = dict(names)
    output: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=output.append, clear_globs=False)
    assert output == [], "".join(output)
    return test.globs


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_an_example(name):
    item = NAMES[name]
    assert examples(item, name) is not None, f"{name} has no example"
    if inspect.isclass(item):
        assert without_example(item) == []


def test_every_public_name_has_a_docstring():
    without = [name for name, item in NAMES.items() if not item.__doc__]
    for name, item in NAMES.items():
        for attribute, versions in public_attributes(item) if inspect.isclass(item) else ():
            if not any(function.__doc__ for _, function in versions):
                without.append(f"{name}.{attribute}")
    assert without == []
    assert len(NAMES) > 50, "the public names were not found"


@pytest.mark.parametrize("name", NAMES)
def test_examples_are_true(name):
    # A method's examples continue those of its class, which saves a fit for each. Those of a
    # class that is not public are run by each class that inherits them.
    item = NAMES[name]
    source = examples(item, name)
    if source is None:
        return
    known = run(source, {"mc2": mcsquared, "np": np, "__name__": "__main__"})
    for method, versions in public_attributes(item) if inspect.isclass(item) else ():
        for owner, function in versions:
            test = examples(function, f"{name}.{method}")
            if test is not None and (owner is item or owner not in NAMES.values()):
                run(test, known)


def test_a_false_example_is_detected():
    test = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "sum", "sum", 0)
    with pytest.raises(AssertionError, match="Expected"):
        run(test, {})
