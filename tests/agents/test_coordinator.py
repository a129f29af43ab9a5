"""Agents under the coordinator, with an engine whose answers are scripted."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from engiagent.agents.analyzer import Analyzer
from engiagent.agents.budgets import Budget, Meter
from engiagent.agents.coordinator import Coordinator, Ended
from engiagent.agents.engines.offline import OfflineEngine
from engiagent.agents.evaluator import Evaluator
from engiagent.agents.faults import taxonomy
from engiagent.agents.memory import Memory, wilson
from engiagent.agents.modeler import Modeler
from engiagent.agents.protocol import (
    Agent,
    AgentName,
    Answer,
    Board,
    Engine,
    Fault,
    Question,
    Usage,
)
from engiagent.agents.routing import Policy, Router
from engiagent.agents.solver import Solver
from engiagent.agents.verifier import Verifier
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem, corpus_root

Json = dict[str, Any]
DAY = corpus_root() / "battery" / "merchant_day"


def expert() -> Json:
    value = json.loads((DAY / "expert/blueprint.json").read_text())
    assert isinstance(value, dict)
    return value


def analysis(blueprint: Json | None, said: str = "complete", **changes: Any) -> Json:
    return {
        "sufficiency": said,
        "missing": [],
        "contradictions": [],
        "not_understood": [],
        "blueprint": blueprint,
        "notes": [],
        **changes,
    }


@dataclass
class Scripted:
    """An engine that gives scripted answers by the kind of question, the last one for ever."""

    answers: Mapping[str, list[Any]]
    asked: list[Question] = field(default_factory=list)
    name: str = "scripted"
    judges: bool = True

    def ask(self, question: Question) -> Answer:
        number = sum(q.kind == question.kind for q in self.asked)
        self.asked.append(question)
        known = self.answers.get(question.kind)
        usage = Usage(calls=1, input_tokens=100, output_tokens=10, cost=0.001)
        if not known:
            return Answer(None, usage, Fault("engine-refused", f"no script for {question.kind}"))
        value = known[min(number, len(known) - 1)]
        return value if isinstance(value, Answer) else Answer(value, usage)


def run(
    engine: Engine,
    policy: Policy | None = None,
    budget: Budget | None = None,
    memory: Memory | None = None,
) -> Ended:
    problem = Problem.load(DAY)
    policy = policy or Policy()
    agents: dict[AgentName, Agent] = {
        "analyzer": Analyzer(engine),
        "modeler": Modeler(engine),
        "verifier": Verifier(engine),
        "solver": Solver(),
        "evaluator": Evaluator(engine),
    }
    router = Router(engine, policy) if memory is None else Router(engine, policy, memory)
    coordinator = Coordinator(agents, router, Meter(budget or Budget()))
    if memory is not None:
        coordinator.memory = memory
    board = Board(problem=problem, data=DAY, name=problem.id, options=SolveOptions())
    return coordinator.run(board)


def verdict(ended: Ended) -> str | None:
    return None if ended.board.certificate is None else str(ended.board.certificate["verdict"])


def way(ended: Ended) -> list[str]:
    return [str(record["target"]) for record in ended.records]


def test_the_offline_engine_takes_the_main_way() -> None:
    ended = run(OfflineEngine(), Policy(verifier=False))
    assert verdict(ended) == "certified"
    assert way(ended) == ["analyzer", "modeler", "solver", "evaluator"]
    assert ended.board.scores["IE"] == ended.board.scores["DR"] == ended.board.scores["MO"] == 1.0


def test_a_right_answer_takes_five_turns() -> None:
    engine = Scripted({"analyse": [analysis(expert())]})
    ended = run(engine)
    assert verdict(ended) == "certified"
    assert way(ended) == ["analyzer", "modeler", "verifier", "solver", "evaluator"]
    assert not ended.stopped


def spoil(change: Callable[[Json], None]) -> Json:
    blueprint = expert()
    change(blueprint["core_model_elements"])
    return blueprint


def number(core: Json) -> int:
    """Return the place of the first parameter that is one number."""
    return next(
        i for i, p in enumerate(core["parameters"]) if isinstance(p.get("value"), int | float)
    )


def wrong_unit(core: Json) -> None:
    parameter = core["parameters"][number(core)]
    parameter["unit"] = "kW" if "h" in parameter["unit"] else "kWh"


def wrong_number(core: Json) -> None:
    core["parameters"][number(core)]["value"] *= 1.25


def other_syntax(core: Json) -> None:
    core["objective_function"]["expression"] += " ++"


@pytest.mark.parametrize("change", [wrong_unit, wrong_number, other_syntax])
def test_a_spoiled_blueprint_is_mended_by_a_patch(change: Callable[[Json], None]) -> None:
    right = expert()["core_model_elements"]
    place = number(right)
    patch = [
        {
            "op": "replace",
            "path": f"/core_model_elements/parameters/{place}",
            "value": right["parameters"][place],
        },
        {
            "op": "replace",
            "path": "/core_model_elements/objective_function",
            "value": right["objective_function"],
        },
    ]
    engine = Scripted(
        {
            "analyse": [analysis(spoil(change)), analysis(expert())],
            "repair": [{"why": "as the text has it", "patch": patch}],
        }
    )
    ended = run(engine)
    assert verdict(ended) == "certified"
    assert "taxonomy" in [record["decided_by"] for record in ended.records]


def test_an_agent_that_does_not_mend_a_mistake_is_not_asked_a_third_time() -> None:
    bad = {"op": "test", "path": "/schema", "value": "engiagent-blueprint/1"}
    engine = Scripted(
        {
            "analyse": [analysis(spoil(other_syntax)), analysis(expert())],
            "repair": [{"why": "nothing", "patch": [bad]}],
        }
    )
    ended = run(engine)
    assert verdict(ended) == "certified"
    assert way(ended)[:5] == ["analyzer", "modeler", "modeler", "modeler", "analyzer"]
    assert ended.records[4]["decided_by"] == "forced switch"


@pytest.mark.parametrize(
    "policy", [Policy(coordination="fixed"), Policy(forced_switching=False)], ids=str
)
def test_without_switching_the_same_mistake_ends_the_run(policy: Policy) -> None:
    bad = {"op": "test", "path": "/schema", "value": "engiagent-blueprint/1"}
    engine = Scripted(
        {
            "analyse": [analysis(spoil(other_syntax)), analysis(expert())],
            "repair": [{"why": "nothing", "patch": [bad]}],
        }
    )
    ended = run(engine, policy)
    assert verdict(ended) is None
    assert ended.faults[0].kind == "syntax"


@pytest.mark.parametrize("value", ["words", {"sufficiency": "complete"}, analysis(None)])
def test_a_malformed_answer_is_asked_for_again(value: Any) -> None:
    ended = run(Scripted({"analyse": [value, analysis(expert())]}))
    assert verdict(ended) == "certified"
    trigger = ended.records[1]["trigger"]
    assert trigger["kind"] == "reply-malformed"


def test_what_is_missing_ends_the_run_without_a_plan() -> None:
    lacks = [{"component": "battery", "quantity": "energy_capacity", "why": "not given"}]
    ended = run(Scripted({"analyse": [analysis(None, "missing", missing=lacks)]}))
    assert verdict(ended) is None
    assert ended.board.missing == ("battery.energy_capacity",)
    assert way(ended) == ["analyzer"]


def test_words_that_the_text_does_not_have_are_no_evidence() -> None:
    claims = [{"quote": "the moon is made of cheese", "why": "odd"}]
    ended = run(
        Scripted(
            {"analyse": [analysis(None, "undecided", not_understood=claims), analysis(expert())]}
        )
    )
    assert verdict(ended) == "certified"
    assert ended.records[1]["trigger"]["kind"] == "misread"


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (Budget(steps=2), "2 turns"),
        (Budget(tokens=100), "110 of 100 tokens"),
        (Budget(cost=0.0005), "USD"),
        (Budget(minutes=0.0), "minutes"),
    ],
)
def test_a_budget_ends_a_run_and_says_which(budget: Budget, said: str) -> None:
    ended = run(Scripted({"analyse": [analysis(expert())]}), budget=budget)
    assert ended.stopped
    assert said in ended.reason


def test_the_best_certificate_is_kept(tmp_path: Path) -> None:
    engine = Scripted({"analyse": [analysis(expert())]})
    ended = run(engine, budget=Budget(steps=5))
    assert verdict(ended) == "certified"


def test_a_run_learns_who_mends_what(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.sqlite", run="one", engine="scripted")
    bad = {"op": "test", "path": "/schema", "value": "engiagent-blueprint/1"}
    script = {
        "analyse": [analysis(spoil(other_syntax)), analysis(expert())],
        "repair": [{"why": "nothing", "patch": [bad]}],
    }
    first = run(Scripted(script), memory=memory)
    rates = {(r.agent, r.kind): (r.attempts, r.mended) for r in memory.rates()}
    assert rates == {("modeler", "syntax"): (1, 0), ("analyzer", "syntax"): (1, 1)}
    for _ in range(3):
        last = run(Scripted(script), memory=memory)
    assert verdict(last) == "certified"
    assert len(last.records) < len(first.records)


def test_every_kind_of_fault_has_somebody_who_mends_it_or_ends_the_run() -> None:
    for kind in taxonomy().values():
        assert kind.ends != bool(kind.owners), kind.name
        assert kind.about
        assert kind.ends or (kind.strategy and 0 < kind.success < 1)


def test_the_page_on_faults_says_what_the_taxonomy_says() -> None:
    page = (Path(__file__).parents[2] / "docs/faults.md").read_text("utf-8")
    rows = {r.split("`")[1]: r for r in page.splitlines() if r.startswith("| `")}
    assert list(rows) == list(taxonomy())
    for name, kind in taxonomy().items():
        _, _, about, owners, chance, priority, strategy, _ = map(str.strip, rows[name].split("|"))
        assert (about, priority, strategy) == (kind.about, kind.priority, kind.strategy)
        assert owners.startswith("none" if kind.ends else ", ".join(kind.owners))
        assert chance == ("" if kind.ends else f"{100 * kind.success:.0f} %")
        assert ("--allow-code" in owners) == kind.script


def test_a_mistake_with_other_numbers_is_the_same_mistake() -> None:
    one = Fault("index", "soc[25] is outside 'T' of 24", "constraints[3].expression, column 7")
    two = Fault("index", "soc[49] is outside 'H' of 48", "constraints[4].expression, column 9")
    other = Fault("index", "soc[25] has one index too many", "constraints[3].expression")
    assert one.signature == two.signature != other.signature


def test_wilsons_interval_is_the_published_one() -> None:
    # Agresti and Coull (1998), 'Approximate is better than exact': 0 of 10 gives 0 to 0.278.
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)
