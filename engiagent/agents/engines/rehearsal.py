"""What a run would ask first, how many tokens that is and what it could cost, asking nobody."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engiagent.agents.budgets import Budget
from engiagent.agents.engines.asking import Asking
from engiagent.agents.engines.exchange import Request, Tokens
from engiagent.agents.protocol import Board, Fault, Question
from engiagent.agents.questions import SCHEMAS
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem


@dataclass(frozen=True)
class Rehearsed:
    """A request that was not sent, and about how many tokens would go in, the schema included.

    ``cost`` is of those, ``most`` with the longest reply there may be, in USD, None without a
    price; ``refused`` says why the budget would not let it go out.
    """

    request: Request
    tokens: int
    cost: float | None
    most: float | None
    refused: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        rest = {k: v for k, v in vars(self).items() if k != "request"}
        return {**self.request.to_dict(), **rest}


def rehearsed(
    problem: Problem, asking: Asking, budget: Budget, overrides: Mapping[str, str]
) -> tuple[Rehearsed, ...]:
    """Return the request that does not hang on an answer: the first reading of the text.

    What is asked after it hangs on the blueprint that comes back.
    """
    board = Board(
        problem=problem,
        data=Path(problem.folder),
        name=problem.id,
        options=SolveOptions(),
        overrides=overrides,
    )
    engine = asking.silent(budget, problem)
    read = Question("analyzer", "analyse", board, {}, SCHEMAS["analyse"])
    request = engine.prompting.request(read)
    limited = engine.limited(request)
    tokens, cost = request.estimated_tokens, engine.prices.cost
    longest = request.max_tokens if isinstance(limited, Fault) else limited.max_tokens
    found = Rehearsed(
        request,
        tokens,
        cost(request.model, Tokens(fresh=tokens)),
        cost(request.model, Tokens(fresh=tokens, out=longest)),
        limited.message if isinstance(limited, Fault) else "",
    )
    return (found,)
