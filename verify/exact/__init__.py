"""The checker in rational arithmetic: nothing is rounded, so nothing has to be allowed for.

Every number is read as the shortest decimal that denotes it, which for a figure of at most fifteen
digits is the figure itself. Expressions are evaluated by rules of their own (:mod:`.evaluator`),
so that an exact result is a second opinion on the one in floating point as well.
"""

from engiagent.verify.exact.addition import with_exact

__all__ = ["with_exact"]
