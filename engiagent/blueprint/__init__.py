"""The blueprint language: documents, expressions, units, sets, data and static analysis.

Knows no solver and no physics.
"""

from engiagent.blueprint.document import Blueprint

__all__ = ["Blueprint"]
