"""The verdicts: one table that the checker, the command line, reports, schemas and docs read."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Verdict:
    """A verdict, and how it is shown."""

    # name, word: as in certificates, and as a heading
    name: str
    word: str
    exit_code: int  # what ``engiagent`` returns to the shell
    # symbol, tone, colour: a mark that does not rest on colour; ``good``, ``bad`` or ``open``; of
    # the terminal
    symbol: str
    tone: str
    colour: str
    when: str  # what it takes, in a line of the documentation
    meaning: str  # what it says to whoever wants to use the plan
    # usable, proven: whether the plan or answer may be used as it is; whether nothing is left to
    # show
    usable: bool = False
    proven: bool = False


_LOOKS: Final = {  # exit code, symbol, tone, colour; whether usable, whether proven
    "certified": (0, "✔", "good", "bold green", True, True),
    "proven infeasible": (3, "⊘", "bad", "bold magenta", False, True),
    "reproduced": (0, "✔", "good", "bold green", True, True),
    "feasible": (0, "✔", "good", "green", True, False),
    "solved": (8, "◐", "open", "bold cyan", False, False),
    "ill-posed": (4, "≠", "bad", "bold magenta", False, False),
    "undecided": (9, "?", "open", "bold yellow", False, False),
    "violated": (1, "✘", "bad", "bold red", False, False),
}
_MEANINGS: Final = {  # what each takes, and what it says
    "certified": (
        "the plan holds and is proven best (`recomputed` or `agreed`, or nothing to optimise); the "
        "reading is `annotated`, `confirmed` or `stated` and nothing of it is open",
        "The plan keeps every requirement of the problem, on paper and when it is executed, and no "
        "other allowed plan is better by an amount that matters.",
    ),
    "proven infeasible": (
        "a proof, evaluated by the checker, that no plan keeps the requirements; the reading as "
        "for `certified`",
        "No plan can meet all requirements at once; the proof was checked.",
    ),
    "reproduced": (
        "of a blueprint of definitions: the answer is what its equations give",
        "The values follow from the definitions; two independent evaluations agree.",
    ),
    "feasible": (
        "the plan holds, the reading as for `certified`; the optimum is not proven",
        "The plan keeps every requirement of the problem, on paper and when it is executed; how "
        "far it is from the best one was not proven.",
    ),
    "solved": (
        "the plan holds for the blueprint, and the reading is open: only the blueprint's "
        "author has read the text, or something of it is not accounted for",
        "The plan keeps every requirement of the blueprint. Whether the blueprint says what the "
        "text says is open: compare what is listed as open with the text before you use the plan.",
    ),
    "ill-posed": (
        "data are missing, or statements of the problem clash; which, is listed",
        "The problem has no answer as it is stated: it lacks data, or statements of it clash. What "
        "is listed here has to be settled first.",
    ),
    "undecided": (
        "something could not be read, checked or solved here; what, is listed",
        "Nothing is claimed: what is listed here could not be read, checked or solved.",
    ),
    "violated": (
        "something is broken by more than its tolerance, or a level fails",
        "Something that must hold does not hold; do not use this plan.",
    ),
}

VERDICTS: Final = {
    name: Verdict(name, name.capitalize(), *looks[:4], *_MEANINGS[name], *looks[4:])
    for name, looks in _LOOKS.items()
}
"""By name, the best first."""
USABLE: Final = tuple(name for name, verdict in VERDICTS.items() if verdict.usable)
PROVEN: Final = tuple(name for name, verdict in VERDICTS.items() if verdict.proven)


def table() -> str:
    """Return verdicts, exit codes and what each takes, as a Markdown table."""
    rows = [f"| `{v.name}` | {v.exit_code} | {v.when} |" for v in VERDICTS.values()]
    return "\n".join(["| verdict | exit code | when |", "|---|---|---|", *rows])
