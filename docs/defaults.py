"""Correct the defaults of parameters that share a line of a docstring in the reference."""

from typing import Any

import griffe


class DefaultsOfParameters(griffe.Extension):
    """Set the default of each parameter; griffe's parser uses that of the first name for all."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Correct all objects with parameters."""
        for item in _descendants(pkg):
            if item.docstring is None or not hasattr(item, "parameters"):
                continue
            item.docstring.parser = "numpy"
            for section in item.docstring.parsed:
                if section.kind is griffe.DocstringSectionKind.parameters:
                    for parameter in section.value:
                        known = parameter.name in item.parameters
                        parameter.value = item.parameters[parameter.name].default if known else None


def _descendants(item: griffe.Object) -> list[griffe.Object]:
    children = [child for child in item.members.values() if not child.is_alias]
    return [item, *(found for child in children for found in _descendants(child))]
