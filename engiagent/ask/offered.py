"""``ask`` as a tool of the MCP server: whole questions, in the session that the client works in."""

from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

from engiagent.agents.engines.asking import Asking
from engiagent.agents.protocol import Budget
from engiagent.ask.asking import Inquiry
from engiagent.ask.cards import Staff
from engiagent.ask.plan import FORM, Open, plan_of
from engiagent.ask.planning import PLANNINGS
from engiagent.errors import InputError
from engiagent.io.schemawords import OBJECT, TEXT, TEXTS, list_of, record
from engiagent.run.folder import REPORT, RunFolder
from engiagent.tools.mcp import Offer
from engiagent.tools.registry import Argument, Json, State, Tool, Watch, needed
from engiagent.tools.supervision import Session

ANSWERS: Final = "answers"
_SHOWN: Final = ("status", "findings", "prose", "assumptions", "not_done", "questions", "plan")
_ARGUMENTS: Final = (
    needed("question", {"type": "string", "minLength": 1, "maxLength": 2000}, "What is asked."),
    Argument(
        "plan",
        OBJECT,
        "The calls that answer it: steps with id, agent, tool, arguments, depends_on; findings "
        "with label, step, path. Without it the server's own model plans, where it has one.",
    ),
    Argument("planning", {"enum": list(PLANNINGS)}, "How the server's model plans."),
    Argument("answers", OBJECT, "Values of open arguments, by step.argument or argument."),
)


def offer(asking: Asking | None) -> Offer:
    """Return how ``ask`` is offered; ``asking`` is the server's own model, if it has one."""

    def unsupervised(state: State, given: Json) -> Any:
        raise InputError("ask works on a session", expected="a client of the server")

    tool = Tool(
        "ask",
        "write",
        "Answer a question by several calls at once, made by specialists under supervision; every "
        "figure of the answer is one that a call gave.",
        unsupervised,
        record(
            {"status": TEXT, "findings": list_of(OBJECT), "prose": TEXT, "assumptions": TEXTS}
            | {"not_done": TEXTS, "questions": list_of(OBJECT), "plan": OBJECT, "page": TEXT}
        ),
        _ARGUMENTS,
        repeatable=False,
        open_world=asking is not None,
        group="ask",
    )
    return Offer(tool, partial(answer, asking))


def answer(
    asking: Asking | None,
    session: Session,
    given: Json,
    watch: Watch,
    clarify: Callable[[Argument, str], Any],
) -> Json:
    """Answer a question in a session; the folder of the answer is one below ``answers/``."""
    if "plan" not in given and asking is None:
        raise InputError("who plans?", expected="a plan, or a server started with --engine")

    def asked(question: Open) -> Any:
        return clarify(question.argument, question.question)

    question = given["question"]
    plan = None
    if "plan" in given:
        stated = {"schema": FORM, **given["plan"], "question": question}
        plan = plan_of(stated, "plan", Staff())
    folder = RunFolder.create(_unused(session.root), "ask", {"question": question})
    way: Any = None if plan is not None else given.get("planning", PLANNINGS[0])
    answers = given.get("answers", {})
    inquiry = Inquiry(folder, question, way, session, answers, asked, watch)
    try:
        if plan is not None:
            found = inquiry.by_plan(plan)
        else:
            assert asking is not None
            found = inquiry.by_model(asking, Budget())
    except BaseException as error:
        folder.finish("failed", None, str(error))
        raise
    folder.finish("done", found.status, None)
    document = found.to_dict()
    page = (folder.path / REPORT).relative_to(session.root).as_posix()
    return {**{name: document[name] for name in _SHOWN}, "page": page}


def _unused(root: Path) -> Path:
    return next(p for k in count(1) if not (p := root / ANSWERS / str(k)).exists())
