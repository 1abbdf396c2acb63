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

PACKAGE = "mcsquared."


def public_modules() -> list[ModuleType]:
    """Return the package, its public modules, and perplexity, which is imported lazily."""
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


def public_attributes(cls: type) -> Iterator[tuple[str, list[tuple[type, Any]]]]:
    """Yield each public method and property with its versions in the class and its bases."""
    for name in sorted(set(dir(cls))):
        if name.startswith("_"):
            continue
        versions = [(base, _function(vars(base).get(name))) for base in _ancestors(cls)]
        versions = [(base, function) for base, function in versions if function is not None]
        if versions:
            yield name, versions


def _ancestors(cls: type) -> list[type]:
    return [base for base in cls.__mro__ if base.__module__.startswith(PACKAGE)]


def _function(attribute: Any) -> Any:
    """Return the function behind a method or a property that is written in the package."""
    if isinstance(attribute, classmethod | staticmethod):
        attribute = attribute.__func__
    elif isinstance(attribute, property):
        attribute = attribute.fget
    elif isinstance(attribute, cached_property):
        attribute = attribute.func
    is_ours = (getattr(attribute, "__module__", None) or "").startswith(PACKAGE)
    return attribute if inspect.isfunction(attribute) and is_ours else None


def examples(item: Any, name: str) -> doctest.DocTest | None:
    """Return the examples of a docstring, or None."""
    text = inspect.cleandoc(item.__doc__ or "")
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    return test if test.examples else None


def without_example(item: Any) -> list[str]:
    """Return the methods and properties of a class without an example.

    The example can be its own, that of the method it overrides, or that of its class.
    """
    found = [examples(base, base.__name__) for base in _ancestors(item)]
    code = "".join(example.source for test in found if test for example in test.examples)
    return [
        name
        for name, versions in public_attributes(item)
        if not any(examples(function, name) for _, function in versions)
        and not re.search(rf"\.{name}\b", code)
    ]
