"""The public names, and the examples in their docstrings."""

import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from types import ModuleType
from typing import Any

import mcsquared

OURS = "mcsquared."


def public_modules() -> list[ModuleType]:
    """Return the package, its public modules, and perplexity, which is slow to import."""
    inside = [getattr(mcsquared, name) for name in mcsquared.__all__]
    modules = [module for module in inside if isinstance(module, ModuleType)]
    return [mcsquared, *modules, importlib.import_module("mcsquared.evaluation.perplexity")]


def public_objects() -> dict[str, Any]:
    """Return every public class and function by the name it is defined under."""
    found = {}
    for module in public_modules():
        for name in module.__all__:
            item = getattr(module, name)
            if inspect.isclass(item) or inspect.isfunction(item):
                found[f"{item.__module__}.{item.__qualname__}"] = item
    return dict(sorted(found.items()))


def own_members(cls: type) -> Iterator[tuple[str, list[tuple[type, Any]]]]:
    """Yield each public method and property of ours: as it has it, and each class above."""
    for name in sorted(set(dir(cls))):
        if name.startswith("_"):
            continue
        versions = [(base, _function(vars(base).get(name))) for base in _ancestors(cls)]
        versions = [(base, function) for base, function in versions if function is not None]
        if versions:
            yield name, versions


def _ancestors(cls: type) -> list[type]:
    return [base for base in cls.__mro__ if base.__module__.startswith(OURS)]


def _function(attribute: Any) -> Any:
    """Return the function behind a method or a property that is written in the package."""
    if isinstance(attribute, classmethod | staticmethod):
        attribute = attribute.__func__
    elif isinstance(attribute, property):
        attribute = attribute.fget
    elif isinstance(attribute, cached_property):
        attribute = attribute.func
    here = (getattr(attribute, "__module__", None) or "").startswith(OURS)
    return attribute if inspect.isfunction(attribute) and here else None


def examples(item: Any, name: str) -> doctest.DocTest | None:
    """Return the examples of a docstring; None where it has none."""
    text = inspect.cleandoc(item.__doc__ or "")
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    return test if test.examples else None


def without_example(item: Any) -> list[str]:
    """Return the methods and properties of a class that no example shows.

    One is shown by an example of its own, of the method it overrides, or of its class.
    """
    shown = [examples(base, base.__name__) for base in _ancestors(item)]
    code = "".join(example.source for test in shown if test for example in test.examples)
    return [
        name
        for name, versions in own_members(item)
        if not any(examples(function, name) for _, function in versions)
        and not re.search(rf"\.{name}\b", code)
    ]
