"""Blueprints of kind ``definitions``: answers that are computed, not optimised."""

from engiagent.blueprint.definitions.design import (
    Chosen,
    Results,
    Series,
    check_definitions,
    evaluate_definitions,
    evaluate_points,
)

__all__ = [
    "Chosen",
    "Results",
    "Series",
    "check_definitions",
    "evaluate_definitions",
    "evaluate_points",
]
