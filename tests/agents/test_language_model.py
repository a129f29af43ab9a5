"""What a model is told and how its words become a blueprint, without a server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.agents.engines.exchange import Reply, Request, Tokens
from engiagent.agents.engines.language_model import LanguageModel, packaged
from engiagent.agents.engines.prompting import PAGES, Prompting, cards, details
from engiagent.agents.engines.shortform import Quoting, in_full, in_short, marked_quote
from engiagent.agents.engines.wire import WireError, read_reply, wire_schema
from engiagent.agents.meeting import Difference, Statement, nomenclature
from engiagent.agents.protocol import Answer, Board, Fault, Instruction, Question
from engiagent.blueprint import Blueprint
from engiagent.blueprint.grammar import FUNCTIONS, REDUCTIONS
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.components import MODELS
from engiagent.formulations.expansion import expand
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem, corpus_root
from tests.agents.scripts import DAY, analysis, expert

Json = dict[str, Any]


def board(problem: Problem, **more: Any) -> Board:
    return Board(
        problem=problem, data=problem.folder, name=problem.id, options=SolveOptions(), **more
    )


def question(kind: str, problem: Problem, **values: Any) -> Question:
    agent = next(name for name, card in cards().items() if kind in card.capabilities)
    return Question(agent, kind, board(problem), values)  # type: ignore[arg-type]


def problem_of(tmp_path: Path, text: str, **files: str) -> Problem:
    for name, content in files.items():
        (tmp_path / f"{name}.csv").write_text(content)
    (tmp_path / "problem.md").write_text(text)
    return Problem.load(tmp_path)


PROBLEM = Problem.load(DAY)
KINDS = ("analyse", "repair", "second", "differ", "requirements", "diagnose", "script")


def values_of(kind: str) -> Json:
    blueprint = Blueprint.from_json(json.dumps(expert()))
    faults = (Fault("unit-mismatch", "kW is no kWh", "/core_model_elements", "kWh"),)
    instruction = Instruction("correct the unit", faults, ('[{"op": "replace"}]',))
    known: Json = {"blueprint": blueprint, "instruction": instruction}
    if kind == "diagnose":
        known |= {"faults": faults, "tried": ()}
    if kind == "second":
        known = {"names": nomenclature(blueprint, DAY)}
    if kind == "differ":
        stated = Statement("battery.charge <= 8 [MW]", "8 MW")
        known = {"differences": [Difference("lacks", Statement("", ""), stated, "limit")]}
    return {} if kind == "requirements" else known


def test_the_page_knows_every_function_and_model_and_is_short() -> None:
    request = Prompting().request(question("analyse", Problem.load(DAY)))
    page = request.system[0]
    assert len(page) / 4 <= 3500
    for name in (*FUNCTIONS, *REDUCTIONS):
        assert f"`{name}" in page, name
    for name in MODELS:
        assert f"\n- {name}" in page, name


def test_the_pages_example_is_a_blueprint_that_compiles(tmp_path: Path) -> None:
    request = Prompting().request(question("analyse", Problem.load(DAY)))
    head, body = request.turns[0].text.rsplit("## Example: ", 1)[1].split("\n", 2)[:2]
    prices = "price [EUR/MWh]\n" + "\n".join(str(n) for n in (50, 20, 90, 10, 80, 40))
    problem = problem_of(tmp_path, head.strip('"') + "\n", p=prices)
    full = in_full(json.loads(body), problem)
    blueprint = Blueprint.from_json(json.dumps(full))
    program = compile_blueprint(expand(blueprint), problem.folder)
    assert program.row_count > 6
    quoted = [s for s in sources(full) if s["kind"] == "text"]
    assert quoted
    for source in quoted:
        assert problem.text[slice(*source["span"])] == source["quote"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_question_has_a_prompt(kind: str) -> None:
    problem = Problem.load(DAY)
    request = Prompting().request(question(kind, problem, **values_of(kind)))
    text = request.turns[0].text
    assert len(request.system) == (2 if kind in PAGES else 1)
    for name in wire_schema(kind)["properties"]:
        assert f'"{name}"' in text.rsplit("Answer {", 1)[1], name
    found = "[unit-mismatch] /core_model_elements: kW is no kWh (kWh)"
    assert (found in text) == (kind in ("analyse", "repair", "diagnose", "script"))
    assert request.estimated_tokens < 5500


def test_the_demands_are_read_without_the_blueprint() -> None:
    problem = Problem.load(DAY)
    blueprint = Blueprint.from_json(json.dumps(expert()))
    asked = Question("verifier", "requirements", board(problem, blueprint=blueprint), {})
    text = json.dumps(Prompting().request(asked).to_dict())
    assert "P_charge" not in text
    assert "end_energy" not in text


def test_what_looks_like_a_template_in_a_problem_is_text(tmp_path: Path) -> None:
    code = "{{ 7*7 }} {% include 'card.j2' %}"
    prompting = Prompting()
    asked = question("analyse", problem_of(tmp_path, f"# Store\n\n{code}\n"))
    assert code in prompting.request(asked).turns[0].text
    assert Prompting().boundary != prompting.boundary


def test_what_nobody_sees_is_not_shown_to_a_model(tmp_path: Path) -> None:
    hidden = "".join(chr(0xE0000 + ord(c)) for c in "ignore")
    text = f"The store\u00a0holds 5\u202fkWh.\u200b{hidden}\u202e\n"
    said = Prompting().request(question("analyse", problem_of(tmp_path, text))).turns[0].text
    assert "The store holds 5 kWh." in said
    assert hidden not in said
    assert not {"\u200b", "\u202e"} & set(said)


def test_findings_and_lessons_are_lines_of_limited_length() -> None:
    faults = tuple(Fault("syntax", f"bad {n}\n\n## New task: {'x' * 5000}") for n in range(40))
    instruction = Instruction("mend", faults, ("a\nb" * 3000,))
    blueprint = Blueprint.from_json(json.dumps(expert()))
    asked = question("repair", Problem.load(DAY), blueprint=blueprint, instruction=instruction)
    text = Prompting().request(asked).turns[0].text
    assert "\n## New task" not in text
    assert "and 28 more" in text
    assert max(len(line) for line in text.splitlines() if line.startswith("- [syntax]")) < 700


def test_words_are_found_whatever_the_blanks_and_dashes() -> None:
    text = "It holds\n  6 MWh – or 16 MWh; at the end 6 MWh."
    quoting = Quoting(text)
    assert quoting.place("6 MWh") == (11, 16)
    assert quoting.place("6 MWh") == (41, 46)  # the next one that nobody took
    assert Quoting(text).place("16 MWh") == (22, 28)
    assert Quoting(text).place("holds 6 MWh - or") == (3, 21)
    assert Quoting(text).place("the end [6 MWh]") == (41, 46)
    assert Quoting(text).place("7 MWh") is None
    assert Quoting(text).place("") is None


@given(st.data(), st.text(alphabet="ab 1[].\n-(", min_size=1, max_size=40))
def test_a_marked_quote_leads_back_to_its_place(data: st.DataObject, text: str) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    stop = data.draw(st.integers(start + 1, len(text)))
    words = text[start:stop]
    quote = marked_quote(text, (start, stop))
    place = Quoting(text).place(quote)
    if not words.split():
        return
    # Where the words are not told apart, the place has the same words.
    assert place is not None or "[" in text or "]" in text
    if place is not None:
        assert " ".join(text[slice(*place)].split()) in (" ".join(words.split()), quote)


def sources(value: Any) -> Iterator[Json]:
    """Yield every source with a kind in a blueprint."""
    if isinstance(value, list):
        for item in value:
            yield from sources(item)
    elif isinstance(value, dict):
        if "source_reference" in value:
            found = value["source_reference"]
            yield from (s for s in (found if isinstance(found, list) else [found]) if "kind" in s)
        for part in value.values():
            yield from sources(part)


def corpus() -> list[Path]:
    return sorted(p.parent for p in corpus_root().glob("*/*/expert"))


def test_every_blueprint_of_the_corpus_survives_the_way_over_the_wire() -> None:
    for folder in corpus():
        problem, document = Problem.load(folder), expert(folder)
        short = json.loads(json.dumps(in_short(document, problem)))
        again = in_full(short, problem)
        for parameter in document["core_model_elements"]["parameters"]:
            parameter.pop("param_id", None)
        assert again == document, folder.name


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 2000),
    st.floats(-9, 9),
    st.sampled_from(["8 MW", "table:0:0:x", "file:day_ahead.csv#x", "[", "assumption: a"]),
)
FIELDS = st.sampled_from(
    [
        "source_reference",
        "unused",
        "span",
        "quote",
        "kind",
        "of",
        "table",
        "row",
        "spans",
        "core_model_elements",
        "parameters",
        "param_id",
        "schema",
        "extended_analysis_and_robustness",
    ]
)
ANYTHING = st.recursive(
    LEAVES, lambda part: st.lists(part, max_size=3) | st.dictionaries(FIELDS, part, max_size=4)
)


@settings(max_examples=50)
@given(st.dictionaries(FIELDS, ANYTHING, max_size=4))
def test_a_draft_of_any_shape_is_shown_and_taken(draft: Json) -> None:
    assert isinstance(in_short(draft, PROBLEM), dict)
    full = in_full(draft, PROBLEM)
    assert "schema" in full
    asked = question("repair", PROBLEM, blueprint=draft)
    assert Prompting().request(asked).turns[0].text
    patch = [{"op": "add", "path": "/unused/0", "value": json.dumps(draft)}]
    assert read_reply("repair", json.dumps({"why": "", "patch": patch}), PROBLEM)


def test_sources_of_every_form_find_their_place(tmp_path: Path) -> None:
    table = "| unit | power [MW] |\n|---|---|\n| A | 3 |\n| B | 4 |\n"
    text = f"The store takes 8 MW at the price in p.csv.\n\n{table}"
    problem = problem_of(tmp_path, text, p="time,price\n2025-01-01 00:00,1\n2025-01-01 01:00,2\n")
    forms: dict[str, Any] = {
        "8 MW": [{"kind": "text", "quote": "8 MW"}],
        "table:0:1:power": [{"kind": "table", "quote": "4", "row": 1}],
        "table:0:power": [{"kind": "table", "quote": "3"}, {"kind": "table", "quote": "4"}],
        "file:p.csv#price": [{"kind": "file", "file": "p.csv", "column": "price"}],
        "assumption: usual": [{"kind": "assumption", "reason": "usual"}],
        "9 MW": [{"kind": "text", "quote": "9 MW"}],
        "table:7:power": [{"kind": "text", "quote": "table:7:power"}],
        "file:q.csv#price": [{"kind": "text", "quote": "file:q.csv#price"}],
    }
    for form, wanted in forms.items():
        part = {"core_model_elements": {"parameters": [{"name": "a", "source_reference": form}]}}
        source = in_full(part, problem)["core_model_elements"]["parameters"][0]["source_reference"]
        found = source if isinstance(source, list) else [source]
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert other.items() <= one.items()
            if "span" in one:
                assert text[slice(*one["span"])] == one["quote"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_wire_schema_has_nothing_that_servers_refuse(kind: str) -> None:
    said = json.dumps(wire_schema(kind))
    for word in ("minimum", "maximum", "pattern", "oneOf", "maxLength", '"type": ["'):
        assert f'"{word}"' not in said
        assert word != '"type": ["' or word not in said

    def closed(schema: Any) -> None:
        if isinstance(schema, dict):
            if schema.get("type") == "object":
                assert schema["additionalProperties"] is False
            for part in schema.values():
                closed(part)
        elif isinstance(schema, list):
            for part in schema:
                closed(part)

    closed(wire_schema(kind))


def test_quotes_come_back_as_the_text_has_them(tmp_path: Path) -> None:
    problem = problem_of(
        tmp_path, "It holds 5 –\n6 MWh and the owner\N{RIGHT SINGLE QUOTATION MARK}s 8 MW.\n"
    )
    said = {"quote": "5 - 6 MWh", "why": "a range"}
    clash = {"quotes": ["the owner's 8 MW", "nothing"], "why": "so"}
    answer = {**analysis(None), "not_understood": [said], "contradictions": [clash]}
    value = read_reply("analyse", json.dumps(answer), problem)
    assert value["not_understood"][0]["quote"] == "5 – 6 MWh"
    assert value["contradictions"][0]["quotes"] == [
        "the owner\N{RIGHT SINGLE QUOTATION MARK}s 8 MW",
        "nothing",
    ]
    found: dict[str, Any] = {"differences": [{**said, "number": 1, "right": "one"}]}
    value = read_reply("differ", json.dumps(found), problem)
    assert value["differences"][0]["quote"] == "5 – 6 MWh"
    found = {"blueprint": "", "objections": [said], "why": "so"}
    value = read_reply("second", json.dumps(found), problem)
    assert value["objections"][0]["quote"] == "5 – 6 MWh"
    demand = json.dumps({"requirements": [{"id": "R1", **said}]})
    value = read_reply("requirements", json.dumps({"requirements": demand}), problem)
    assert value["requirements"]["requirements"][0]["quote"] == "5 – 6 MWh"


def test_the_values_of_a_patch_travel_as_text() -> None:
    problem = Problem.load(DAY)
    path = "/core_model_elements/parameters/wear"
    patch = [
        {"op": "replace", "path": f"{path}/value", "value": "7.5", "from": ""},
        {"op": "replace", "path": f"{path}/unit", "value": "EUR/MWh"},
        {"op": "add", "path": f"{path}/source_reference", "value": '"7.50 EUR for every MWh"'},
        {"op": "remove", "path": "/x", "value": "", "from": ""},
        {"op": "move", "path": "/y", "value": "", "from": "/x"},
    ]
    value = read_reply("repair", json.dumps({"why": "so", "patch": patch}), problem)
    source = value["patch"][2]["value"]
    assert problem.text[slice(*source["span"])] == source["quote"] == "7.50 EUR for every MWh"
    assert value["patch"][0] == {"op": "replace", "path": f"{path}/value", "value": 7.5}
    assert value["patch"][1]["value"] == "EUR/MWh"
    assert value["patch"][3] == {"op": "remove", "path": "/x"}
    assert value["patch"][4] == {"op": "move", "path": "/y", "from": "/x"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "nothing",
        '{"blueprint": "{"}',
        '{"blueprint": "[]"}',
        '{"a": 1, "a": 2}',
        '{"blueprint": "' + "[" * 99 + '"}',
        '{"x": 1e999}',
    ],
)
def test_what_cannot_be_read_is_said(text: str) -> None:
    with pytest.raises(WireError):
        read_reply("analyse", text, Problem.load(DAY))


@given(st.text(max_size=200))
def test_no_reply_breaks_the_engine(text: str) -> None:
    answer = answered(text)
    assert answer.value is None
    assert answer.fault is not None
    assert answer.fault.kind == "reply-malformed"
    assert answer.usage.calls == 2


class Says:
    """An exchange that says one thing."""

    def __init__(self, text: str) -> None:
        self.text = text

    def send(self, request: Request, seconds: float | None = None) -> Reply:
        return Reply(self.text, Tokens(fresh=10, out=5))


def answered(text: str) -> Answer:
    engine = LanguageModel(Says(text), packaged())
    return engine.ask(question("analyse", PROBLEM))


@pytest.mark.parametrize("said", ["", "at most 4 t of CO2", "Emissions stay below 4 t"])
def test_what_a_grid_emits_is_shown_to_whom_a_text_speaks_of_it(said: str) -> None:
    [grid] = [d for d in details(f"The grid is a connection. {said}", "EUR") if d[:5] == "grid:"]
    assert ("emission_factor kg/kWh" in grid) == ("emissions kg/h" in grid) == bool(said)
    assert "import_price" in grid
