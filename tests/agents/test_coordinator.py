"""Agents under the coordinator, with an engine whose answers are scripted."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from engiagent.agents.analyzer import Analyzer
from engiagent.agents.coordinator import Coordinator, Ended
from engiagent.agents.faults import taxonomy
from engiagent.agents.memory import Memory
from engiagent.agents.modeler import Evaluator, Modeler, Solver, patched
from engiagent.agents.protocol import (
    Agent,
    AgentName,
    Answer,
    Board,
    Budget,
    Engine,
    Fault,
    Instruction,
    Question,
    Usage,
)
from engiagent.agents.routing import Router
from engiagent.agents.verifier import Verifier
from engiagent.blueprint import Blueprint
from engiagent.run.certify import certify
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem
from tests.agents.scripts import DAY, expert, spoilt

Json = dict[str, Any]


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


def certified(board: Board) -> Json:
    given = (board.problem, board.solution, board.blueprint)
    return certify(*given, folder=board.data, name=board.name).to_dict()


@dataclass(frozen=True)
class Ran:
    """How a run ended, and its routing records."""

    ended: Ended
    records: list[Any]

    @property
    def verdict(self) -> str | None:
        found = self.ended.board.certificate
        return None if found is None else str(found["verdict"])

    @property
    def way(self) -> list[str]:
        return [str(record["target"]) for record in self.records]


def run(engine: Engine, memory: Memory | None = None) -> Ran:
    problem = Problem.load(DAY)
    agents: dict[AgentName, Agent] = {
        "analyzer": Analyzer(engine),
        "modeler": Modeler(engine),
        "verifier": Verifier(engine),
        "solver": Solver(),
        "evaluator": Evaluator(engine, certified),
    }
    records: list[Any] = []
    router = Router(engine, memory=memory)
    coordinator = Coordinator(agents, router, Budget(), memory, on_record=records.append)
    board = Board(problem=problem, data=DAY, name=problem.id, options=SolveOptions())
    return Ran(coordinator.run(board), records)


def attempts(memory: Memory) -> list[tuple[str, str, int]]:
    """Return agent, kind, and whether it was mended, of every attempt."""
    with sqlite3.connect(memory.path) as connection:
        found = connection.execute("SELECT agent, kind, mended FROM attempts").fetchall()
    connection.close()
    return sorted(found)


def other_syntax(core: Json) -> None:
    core["objective_function"]["expression"] += " ++"


def stuck() -> dict[str, list[Any]]:
    """Return the answers of a modeler who changes nothing about a mistake of the analyzer."""
    idle = {"op": "test", "path": "/schema", "value": "engiagent-blueprint/1"}
    return {
        "analyse": [analysis(spoilt(other_syntax)), analysis(expert())],
        "repair": [{"why": "nothing", "patch": [idle]}],
    }


def test_an_agent_that_does_not_mend_a_mistake_is_not_asked_a_third_time() -> None:
    engine = Scripted(stuck())
    ended = run(engine)
    assert ended.verdict == "certified"
    assert ended.way[:5] == ["analyzer", "modeler", "modeler", "modeler", "analyzer"]
    assert ended.records[4]["decided_by"] == "forced switch"


def test_words_that_the_text_does_not_have_are_no_evidence() -> None:
    claims = [{"quote": "the moon is made of cheese", "why": "odd"}]
    ended = run(
        Scripted(
            {"analyse": [analysis(None, "undecided", not_understood=claims), analysis(expert())]}
        )
    )
    assert ended.verdict == "certified"
    assert ended.records[1]["trigger"]["kind"] == "misread"


def test_a_run_learns_who_mends_what(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.sqlite", run="one", engine="scripted")
    script = stuck()
    first = run(Scripted(script), memory=memory)
    assert attempts(memory) == [("analyzer", "syntax", 1), ("modeler", "syntax", 0)]
    for _ in range(3):
        last = run(Scripted(script), memory=memory)
    assert last.verdict == "certified"
    assert len(last.records) < len(first.records)


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


def test_a_cure_counts_once_the_check_that_found_the_fault_does_not_find_it_again(
    tmp_path: Path,
) -> None:
    """What is kept of it are fields and operations: values and names are this problem's own."""
    place = [p["name"] for p in expert()["core_model_elements"]["parameters"]].index("E_max")
    path = f"/core_model_elements/parameters/{place}"

    def larger(core: Json) -> None:
        core["parameters"][place]["value"] = 40

    def patch(field_: str, value: Any) -> Json:
        return {"why": "so", "patch": [{"op": "add", "path": f"{path}/{field_}", "value": value}]}

    patches = [patch("description", "what it holds"), patch("value", 20)]
    memory = Memory(tmp_path / "memory.sqlite", run="one", engine="scripted")
    script = {"analyse": [analysis(spoilt(larger))], "repair": patches}
    ended = run(Scripted(script), memory=memory)
    turn = next(r for r in ended.records if r["outcome"]["faults"])
    (found,) = turn["outcome"]["faults"]
    assert (turn["target"], found["kind"]) == ("verifier", "data-altered")
    assert sorted(mended for _, _, mended in attempts(memory)) == [0, 1]
    assert memory.lessons(found["signature"]) == ("add parameters/value",)


@pytest.mark.parametrize("change", ["unit", "source_reference"])
def test_a_repair_of_a_unit_or_a_quote_alone_is_a_repair(change: str) -> None:
    right = Blueprint.from_json(json.dumps(expert()))
    parameter = expert()["core_model_elements"]["parameters"][0]
    other = {"unit": "EUR/kWh", "source_reference": {"kind": "assumption", "reason": "typical"}}
    path = f"/core_model_elements/parameters/0/{change}"
    assert parameter[change] != other[change]
    patch = [{"op": "replace", "path": path, "value": other[change]}]
    engine = Scripted({"repair": [{"why": "as it says", "patch": patch}]})
    fault = Fault("data-untraced", "the number has no source", "price")
    board = Board(problem=Problem.load(DAY), data=DAY, name="day", options=SolveOptions())
    board = board.having(blueprint=right, instruction=Instruction("give it", (fault,)))
    outcome = Analyzer(engine).run(board)
    assert (outcome.status, outcome.summary) == ("done", "the blueprint is patched")
    assert [q.kind for q in engine.asked] == ["repair"]


def test_a_draft_that_is_no_blueprint_yet_can_be_patched() -> None:
    draft = expert()
    draft["core_model_elements"]["constraints"][0]["formula"] = "x"
    place = "/core_model_elements/constraints/0/formula"
    assert isinstance(patched(draft, [{"op": "remove", "path": place}]), Blueprint)
    still = patched(draft, [{"op": "test", "path": "/kind", "value": "programme"}])
    assert not isinstance(still, Blueprint)
    assert {fault.kind for fault in still} == {"blueprint-invalid"}
