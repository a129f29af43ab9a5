"""The checker in rational arithmetic: nothing is rounded, so nothing has to be allowed for.

Every number is read as the shortest decimal that denotes it, which for a figure of at most fifteen
digits is the figure itself. Expressions are evaluated by the checker's one evaluator
(:mod:`engiagent.verify.evaluate`) on a bench whose numbers are fractions (:mod:`.bench`).
"""

from engiagent.verify.exact.addition import with_exact

__all__ = ["with_exact"]
