"""Prompts: ways through the tools that a person can pick in a client."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mcp_types import GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from engiagent.errors import InputError

_RULES: Final = (
    "Only the certificate of 'check' counts; what a solver says of itself is no verdict. Never "
    "fill in a number that the text does not give: ask me for it, or say which one is missing. "
    "When a call is blocked, do what its advice says."
)


@dataclass(frozen=True)
class _Way:
    title: str
    description: str
    arguments: Mapping[str, str]
    text: str


PROMPTS: Final[Mapping[str, _Way]] = {
    "solve_problem": _Way(
        "Solve a problem",
        "From a problem's text to a certified schedule, and what holds it back.",
        {"path": "The problem's file or folder in the workspace."},
        "Take the problem {path} to a certified schedule. Call load_problem and audit, and tell me "
        "what is missing or contradictory before you go on. Then analyse; where values are missing "
        "ask me and give them as 'values'. Then compile, solve, check and explain. Report the "
        "verdict, the objective with its unit, what was violated or not understood, and which "
        "limits hold the plan back and what more of each would be worth. Keep the result with "
        "report. ",
    ),
    "audit_problem": _Way(
        "Audit a problem",
        "Whether a text gives enough, and whether what it gives can hold; nothing is solved.",
        {"path": "The problem's file or folder in the workspace."},
        "Load the problem {path} and audit it. List every finding with the words of the text that "
        "it rests on, the worst first, and say for each what I should add or correct. ",
    ),
    "write_problem": _Way(
        "Write a problem",
        "Put a need in your own words into a problem that can be solved.",
        {"need": "What is to be planned, in your own words.", "folder": "Where to keep it."},
        "I need: {need}. Look at a packaged problem of the same kind (list_problems with packaged) "
        "to see how such a text reads. Ask me for every number, unit and limit that you need: what "
        "is planned, for which time, in which steps, with which equipment, prices and limits, and "
        "what is to be minimised. Write it with pose_problem into {folder}, load it, audit it, and "
        "show me what is still open. ",
    ),
    "why": _Way(
        "Why is there no plan, or just this one?",
        "What clashes, what is missing, or what holds a plan of a run back.",
        {"run": "The run's folder in the workspace."},
        "Read certificate.json and explanation.json of the run {run} with read_artefact. Say in "
        "words for an operator why there is no plan, or what holds the plan back, with the place "
        "in the text that each point rests on, and the least change that would help. ",
    ),
}


def offered() -> list[Prompt]:
    """Return the prompts for a client's list; every argument has to be given."""
    return [
        Prompt(
            name=name,
            title=way.title,
            description=way.description,
            arguments=[
                PromptArgument(name=argument, description=said, required=True)
                for argument, said in way.arguments.items()
            ],
        )
        for name, way in PROMPTS.items()
    ]


def filled(name: str, arguments: Mapping[str, str]) -> GetPromptResult:
    """Return a prompt with its arguments in place."""
    if name not in PROMPTS:
        raise InputError("there is no such prompt", name, expected=", ".join(PROMPTS))
    way = PROMPTS[name]
    if set(arguments) != set(way.arguments):
        raise InputError(
            "the arguments do not fit",
            name,
            found=", ".join(arguments) or "none",
            expected=", ".join(way.arguments),
        )
    text = way.text
    for argument, value in arguments.items():
        text = text.replace(f"{{{argument}}}", value)
    message = PromptMessage(role="user", content=TextContent(text=text + _RULES))
    return GetPromptResult(description=way.description, messages=[message])
