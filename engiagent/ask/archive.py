"""The archive: questions with workflows that were verified, ranked for a new question.

An entry is ``archive/<name>.yaml``: a plan as :func:`engiagent.ask.plan.plan_of` reads it, whose
question it answers. Entries are ranked by BM25 over words, cut off at the break of relevance, and
filtered by structure, which is the tools and the edges of the workflow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from engiagent.agents.retrieval import Embed, ranked, structurally_alike, words
from engiagent.ask.cards import Staff
from engiagent.ask.plan import Plan, plan_of
from engiagent.io.files import packaged_yaml

MOST: Final = 3


@dataclass(frozen=True)
class Workflow:
    """A question with its plan."""

    name: str
    plan: Plan

    @property
    def text(self) -> str:
        """The question."""
        return self.plan.question

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the question."""
        return words(self.plan.question)

    @property
    def structure(self) -> tuple[str, ...]:
        """The tools, and the pairs of which the second works from the first."""
        tool = {step.id: step.tool for step in self.plan.steps}
        edges = {f"{tool[a]}>{tool[b]}" for a, b in self.plan.edges()}
        return tuple(sorted({*tool.values(), *edges}))

    @property
    def chain(self) -> str:
        """The tools in their order."""
        return ", ".join(step.tool for step in self.plan.steps)


@cache
def archive() -> Mapping[str, Workflow]:
    """Return all workflows of the archive by name."""
    folder, staff = files("engiagent.ask") / "archive", Staff()
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".yaml"))
    plans = {n: plan_of(packaged_yaml("engiagent.ask", f"archive/{n}"), n, staff) for n in names}
    return {name[:-5]: Workflow(name[:-5], plan) for name, plan in plans.items()}


def similar(
    question: str, known: Sequence[Workflow] | None = None, embed: Embed | None = None
) -> tuple[Workflow, ...]:
    """Return the workflows to show beside a question, the most relevant first.

    ``embed``: ranks by its vectors in the place of words. A question that is word for word in the
    archive is not shown its own workflow.
    """
    others = [w for w in (known or tuple(archive().values())) if w.text.strip() != question.strip()]
    return structurally_alike(ranked(others, question, embed))[:MOST]
