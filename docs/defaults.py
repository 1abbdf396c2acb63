"""Parameters that share a line of a docstring each keep their own default in the reference."""

from typing import Any

import griffe


class OwnDefaults(griffe.Extension):
    """Set right what the parser of numpydoc takes from the first name of the line for all."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Go through everything that has parameters."""
        for item in _members(pkg):
            if item.docstring is None or not hasattr(item, "parameters"):
                continue
            item.docstring.parser = "numpy"
            for section in item.docstring.parsed:
                if section.kind is griffe.DocstringSectionKind.parameters:
                    for parameter in section.value:
                        known = parameter.name in item.parameters
                        parameter.value = item.parameters[parameter.name].default if known else None


def _members(item: griffe.Object) -> list[griffe.Object]:
    inside = [member for member in item.members.values() if not member.is_alias]
    return [item, *(found for member in inside for found in _members(member))]
