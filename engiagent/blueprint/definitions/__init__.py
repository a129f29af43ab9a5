"""Blueprints of kind ``definitions``: answers that are computed, not optimised."""

from engiagent.blueprint.definitions.evaluation import (
    check_definitions,
    evaluate_definitions,
    evaluate_points,
)
from engiagent.blueprint.definitions.results import Chosen, Results, Series

__all__ = [
    "Chosen",
    "Results",
    "Series",
    "check_definitions",
    "evaluate_definitions",
    "evaluate_points",
]
