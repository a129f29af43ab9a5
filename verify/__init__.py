"""The checker: whether a schedule obeys the data, the requirements and the physics of its problem.

It trusts neither the language model, nor the model builder, nor the solver, and shares no code with
them: of the rest of the project it knows the grammar and the declarations of blueprints and the
physics of :mod:`engiagent.models`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engiagent.verify.certificate import Certificate
    from engiagent.verify.checking import check
    from engiagent.verify.requirements import Requirements, load_requirements

__all__ = ["Certificate", "Requirements", "check", "load_requirements"]

_HOMES = {
    "Certificate": "certificate",
    "Requirements": "requirements",
    "check": "checking",
    "load_requirements": "requirements",
}


def __getattr__(name: str) -> Any:
    """Import a public name when somebody asks for it: numpy and the rest take their time."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
