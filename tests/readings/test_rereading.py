"""A text that was read once is read again by rule, or left undecided with the words that differ."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engiagent.blueprint import Blueprint
from engiagent.cli.app import app
from engiagent.errors import InputError
from engiagent.readings import Reading
from engiagent.readings.stored import place_of, reread, store, stored_reading
from engiagent.text import Problem, corpus_root, find_problems
from engiagent.units.unit import parse_unit
from tests.blueprints import constraint, goal, variable

TEXT = """# Filling the high basin

The pump station lifts water for 6 hours, hour by hour, from 00:00 on 4 March 2025. The pump draws
at most 120 kW. By the end the basin needs 450 kWh of pumping, of which 80 % reaches the water.
The pump house is kept warm with 7 kW, and its lamps take another 7 kW. Prices are in `prices.csv`.
Two engineers look after it; the manual is of 1998.

| Part    | Value | Unit    |
|---------|-------|---------|
| network | 12    | EUR/MWh |
| levy    | 3.5   | EUR/MWh |

| Hour | Other load [kW] |
|------|-----------------|
| 0    | 30              |
| 1    | 31              |
| 2    | 32              |
| 3    | 33              |
| 4    | 34              |
| 5    | 35              |
"""
PRICES = "time,price [EUR/MWh]\n" + "".join(
    f"2025-03-04 {h:02d}:00,{40 + 7 * (h % 4)}\n" for h in range(6)
)


def at(words: str, inside: str | None = None) -> dict[str, Any]:
    """Return the source of words, of which the text holds only these."""
    start = TEXT.index(words)
    shift = words.index(inside) if inside else 0
    words = inside or words
    return {"kind": "text", "span": [start + shift, start + shift + len(words)], "quote": words}


def parameter(name: str, value: float, unit: str, source: Any) -> dict[str, Any]:
    """Return a parameter of the blueprint."""
    return {
        "param_id": name,
        "name": name,
        "value": value,
        "unit": unit,
        "source_reference": source,
    }


def document() -> dict[str, Any]:
    """Return the blueprint of the text."""
    file = {"kind": "file", "file": "prices.csv", "column": "price [EUR/MWh]"}
    return {
        "schema": "engiagent-blueprint/1",
        "kind": "programme",
        "modeling_context": {"problem_essence": "pumping at the least cost"},
        "core_model_elements": {
            "sets": [
                {
                    "name": "T",
                    "kind": "time",
                    "start": "2025-03-04T00:00",
                    "step": "1 h",
                    "periods": 6,
                    "source_reference": [at("6 hours"), at("4 March 2025")],
                }
            ],
            "parameters": [
                {
                    "param_id": "price",
                    "name": "price",
                    "index": ["T"],
                    "unit": "EUR/MWh",
                    "data": "prices.csv#price [EUR/MWh]",
                    "source_reference": file,
                },
                parameter("P_max", 120, "kW", at("120 kW")),
                parameter("E_need", 450, "kWh", at("450 kWh")),
                parameter("eta", 80, "%", at("80 %")),
                parameter("warm", 7, "kW", at("with 7 kW", "7 kW")),
                parameter("network", 12, "EUR/MWh", at("| 12 ", "12")),
                parameter("levy", 3.5, "EUR/MWh", at("| 3.5 ", "3.5")),
                {
                    **parameter("other", 0, "kW", None),
                    "index": ["T"],
                    "value": list(range(30, 36)),
                    "source_reference": [at(f"| {k}  ", str(k)) for k in range(30, 36)],
                },
            ],
            "decision_variables": [variable("p", "t in T", upper="P_max")],
            "constraints": [
                constraint(
                    "sum(p[t]*dt(t) for t in T) >= E_need",
                    constraint_id="need",
                    source_reference=at("By the end the basin needs 450 kWh"),
                )
            ],
            "objective_function": goal(
                "sum((price[t] + network + levy)*(p[t] + other[t] + warm)*dt(t) for t in T)"
            ),
        },
        "extended_analysis_and_robustness": {
            "unused": [
                {
                    **{k: v for k, v in at(words, inside).items() if k != "kind"},
                    "reason": "no matter",
                }
                for words, inside in (("1998", None), ("another 7 kW", "7 kW"), ("Two", None))
            ]
        },
    }


CARRIED = {"P_max": "120 kW", "E_need": "450 kWh", "eta": "80 %", "network": "12  ", "levy": "3.5 "}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("basin")
    put(place, TEXT, document())
    return place


def put(place: Path, text: str, blueprint: dict[str, Any]) -> None:
    """Write a problem with its stored reading."""
    (place / "problem.md").write_text(text, encoding="utf-8")
    (place / "prices.csv").write_text(PRICES, encoding="utf-8")
    problem = Problem.load(place)
    accepted = {"by": "a test", "date": None, "verdict": None, "grade": "author only"}
    store(problem, place_of(problem), blueprint, accepted=accepted)


def read(folder: Path, text: str = TEXT, prices: str = PRICES) -> Reading:
    """Return the stored reading of a text that was altered."""
    (folder / "problem.md").write_text(text, encoding="utf-8")
    (folder / "prices.csv").write_text(prices, encoding="utf-8")
    found = reread(Problem.load(folder))
    assert found is not None
    return found


def values(found: Reading) -> dict[str, Any]:
    """Return the values of a blueprint's parameters in SI."""
    assert found.blueprint is not None, found.not_understood
    core = found.blueprint.to_dict()["core_model_elements"]
    return {
        p["name"]: parse_unit(p["unit"]).to_si(float(p["value"]))
        for p in core["parameters"]
        if isinstance(p.get("value"), int | float)
    }


def time_of(found: Reading) -> tuple[str, int]:
    assert found.blueprint is not None, found.not_understood
    index_set = found.blueprint.to_dict()["core_model_elements"]["sets"][0]
    return index_set["start"], index_set["periods"]


def spans(part: Any) -> list[tuple[list[int], str]]:
    """Return every place and quote of a document."""
    if isinstance(part, dict):
        own = [(part["span"], part["quote"])] if "span" in part else []
        return own + [found for item in part.values() for found in spans(item)]
    return [f for item in part for f in spans(item)] if isinstance(part, list) else []


def undecided(found: Reading, *words: str) -> None:
    """Assert that a reading stays open and quotes these words."""
    assert found.blueprint is None
    quoted = " ".join(q for gap in found.not_understood for q in (*gap.quotes, gap.reason))
    assert all(word in quoted for word in words), found.not_understood


def test_the_text_itself_gives_the_blueprint_that_was_accepted(folder: Path) -> None:
    found = read(folder)
    assert found.complete
    assert found.blueprint == Blueprint.from_dict(document())


def test_line_breaks_and_widths_of_columns_do_not_matter(folder: Path) -> None:
    text = TEXT.replace("draws\nat", "draws at").replace("| network |", "|   network |")
    found = read(folder, text.replace("|---------|", "|---|"))
    assert values(found)["P_max"] == 120e3
    for span, quote in spans(found.blueprint.to_dict()):  # type: ignore[union-attr]
        assert Problem.load(folder).text[slice(*span)] == quote


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(sorted(CARRIED)), number=st.integers(1, 99_999), point=st.integers(0, 3)
)
def test_a_carried_number_moves_exactly_and_quotes_stay_true(
    folder: Path, name: str, number: int, point: int
) -> None:
    written = str(number) if not point else f"{number // 10**point}.{number % 10**point:0{point}d}"
    old = CARRIED[name]
    text = TEXT.replace(old, re.sub(r"[\d.]+", written, old, count=1))
    found = read(folder, text)
    before = values(Reading(Blueprint.from_dict(document())))
    unit = {"P_max": "kW", "E_need": "kWh", "eta": "%"}.get(name, "EUR/MWh")
    if float(written) == 0:
        undecided(found, "sign")
        return
    if found.blueprint is None:  # it became equal to, or passed, what stands beside it
        assert name in ("network", "levy"), found.not_understood
        return
    assert values(found) == {**before, name: parse_unit(unit).to_si(float(written))}
    places = spans(found.blueprint.to_dict())
    assert len(places) == len(spans(document()))
    assert all(text[slice(*span)] == quote for span, quote in places)


@pytest.mark.parametrize(
    ("old", "new", "name", "value"),
    [
        ("450 kWh", "0.45 MWh", "E_need", 450 * 3.6e6),
        ("450 kWh", "0.8 MWh", "E_need", 800 * 3.6e6),
        ("120 kW", "0.1 MW", "P_max", 100e3),
        ("| 3.5   | EUR/MWh", "| 0.4   | ct/kWh", "levy", 0.004 / 3.6e6),
        ("| 3.5   | EUR/MWh", "| 0.004 | EUR/kWh", "levy", 0.004 / 3.6e6),
        ("120 kW", "120.0 kW", "P_max", 120e3),
    ],
)
def test_units_of_one_dimension(folder: Path, old: str, new: str, name: str, value: float) -> None:
    assert values(read(folder, TEXT.replace(old, new)))[name] == pytest.approx(value, rel=1e-12)


def test_a_unit_in_a_header_changes_the_whole_column(folder: Path) -> None:
    text = TEXT.replace("Other load [kW]", "Other load [MW]")
    for k in range(30, 36):
        text = text.replace(f"| {k}  ", f"| 0.0{k}")
    found = read(folder, text)
    assert found.blueprint is not None, found.not_understood
    other = next(p for p in found.blueprint.core.parameters if p.name == "other")
    assert list(other.value) == list(range(30, 36))


def test_other_prices_of_the_same_shape(folder: Path) -> None:
    assert read(folder, prices=PRICES.replace(",47", ",55")).complete


def test_a_header_in_another_unit(folder: Path) -> None:
    prices = PRICES.replace("EUR/MWh", "EUR/kWh")
    prices = re.sub(r",(\d+)\n", lambda m: f",{int(m[1]) / 1000}\n", prices)
    found = read(folder, prices=prices)
    assert found.blueprint is not None, found.not_understood
    assert found.blueprint.core.parameters[0].data == "prices.csv#price [EUR/kWh]"


def test_the_day_moves_with_text_and_stamps_together(folder: Path) -> None:
    text = TEXT.replace("4 March 2025", "11 March 2025")
    prices = PRICES.replace("03-04", "03-11")
    assert time_of(read(folder, text, prices)) == ("2025-03-11T00:00", 6)
    undecided(read(folder, text), "11 March 2025", "4 March 2025")
    undecided(read(folder, prices=prices), "4 March 2025")


def test_more_rows_are_more_periods_where_nothing_is_listed_by_hand(
    folder: Path, tmp_path: Path
) -> None:
    longer = "time,price [EUR/MWh]\n" + "".join(f"2025-03-04 {h:02d}:00,50\n" for h in range(12))
    undecided(read(folder, TEXT.replace("6 hours", "12 hours"), longer), "6 periods")
    plain = TEXT[: TEXT.index("| Hour")]
    draft = document()
    draft["core_model_elements"]["parameters"].pop()
    goal = draft["core_model_elements"]["objective_function"]
    goal["expression"] = goal["expression"].replace(" + other[t]", "")
    put(tmp_path, plain, draft)
    hours = plain.replace("6 hours", "12 hours")
    assert time_of(read(tmp_path, hours, longer)) == ("2025-03-04T00:00", 12)
    undecided(read(tmp_path, hours), "12 hours")
    undecided(read(tmp_path, plain, longer), "6 hours")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Two engineers", "Three engineers", "Three engineers"),
        ("1998", "1999", "1999"),
        ("00:00", "01:00", "01:00"),
        ("120 kW", "120 kWh", "120 kWh"),
        ("120 kW", "-120 kW", "-120 kW"),
        ("120 kW", "0 kW", "0 kW"),
        ("80 %", "0.8", "0.8"),
        ("with 7 kW", "with 8 kW", "its lamps take another 7 kW"),
        ("another 7 kW", "another 8 kW", "another 8 kW"),
        ("| 4    | 34", "| 7    | 34", "7"),
        ("at most", "at least", "at least 120 kW"),
        ("By the end", "by the end", "by the end"),
        ("of 1998.", "of 1998!", "1998!"),
        ("4 March 2025", "5 April 2025", "April"),
        ("| network | 12 ", "| network | 3.5", "network"),
        ("| levy    | 3.5   | EUR/MWh |\n", "", "levy"),
        ("EUR/MWh", "USD/MWh", "USD/MWh"),
    ],
)
def test_any_other_difference(folder: Path, old: str, new: str, words: str) -> None:
    undecided(read(folder, TEXT.replace(old, new)), words)


def test_prices_that_get_a_sign_they_never_had(folder: Path) -> None:
    undecided(read(folder, prices=PRICES.replace(",61", ",-5")), "prices.csv", "sign")


@pytest.mark.parametrize("change", ["column", "row", "stamps", "none"])
def test_files_of_another_shape(folder: Path, change: str) -> None:
    prices = {
        "column": PRICES.replace("price", "tariff"),
        "row": PRICES[: PRICES.rindex("2025")],
        "stamps": "\n".join(line.replace(" 0", " 1") for line in PRICES.splitlines()) + "\n",
        "none": re.sub(r"(\d\d):00", lambda m: f"0{int(m[1]) // 2}:{'03'[int(m[1]) % 2]}0", PRICES),
    }[change]
    undecided(read(folder, prices=prices), "prices.csv")


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(place=st.integers(0, 400), word=st.sampled_from(["not", "once", "only", "per", "of", "kW"]))
def test_any_word_put_in_is_noticed(folder: Path, place: int, word: str) -> None:
    blanks = [m.start() for m in re.finditer(r"(?<=[a-z,;.]) (?=[A-Za-z])", TEXT)]
    k = blanks[place % len(blanks)]
    undecided(read(folder, f"{TEXT[:k]} {word}{TEXT[k:]}"))


def test_a_literal_in_a_formula_is_not_left_behind(tmp_path: Path) -> None:
    draft = document()
    need = draft["core_model_elements"]["constraints"][0]
    need["expression"] = "sum(p[t]*dt(t) for t in T) >= max(E_need, 450[kWh])"
    put(tmp_path, TEXT, draft)
    undecided(read(tmp_path, TEXT.replace("450 kWh", "460 kWh")), "460 kWh", "need")


def test_a_reading_whose_quotes_are_not_in_its_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="misquotes"):
        put(tmp_path, TEXT.replace("120", "12000"), document())
    assert reread(Problem.load(tmp_path)) is None


def test_stored_readings_of_the_corpus_are_of_its_texts() -> None:
    paths = [p if p.is_dir() else p.parent for p in find_problems(corpus_root())]
    for path in paths:
        problem = Problem.load(path)
        found, stored = reread(problem), stored_reading(problem)
        assert found is not None, f"{path}: run 'engiagent accept {path} --force'"
        assert stored is not None
        assert not found.not_understood, path
        assert stored.text == problem.text
        assert {k: v["sha256"] for k, v in stored.data.items()} == {
            k: v.sha256 for k, v in problem.data.items()
        }
        answer = json.loads((path / "expert" / "answer.json").read_text(encoding="utf-8"))
        open_points = bool(found.missing or found.contradictions)
        assert open_points == (answer["verdict"] == "ill-posed"), path
        assert {".".join(filter(None, (m.component, m.quantity))) for m in found.missing} >= set(
            answer.get("missing") or ()
        )
        assert found.blueprint == Blueprint.load(path / "expert" / "blueprint.json")


def call(*words: Any) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_run_is_accepted_and_its_text_read_again(tmp_path: Path) -> None:
    source = corpus_root() / "battery" / "merchant_day"
    place = tmp_path / "mine"
    shutil.copytree(source, place)
    run = tmp_path / "run"
    assert call("run", place, "--out", run).exit_code == 0
    shutil.rmtree(place / "expert")
    accepted = call("accept", run)
    assert accepted.exit_code == 0, accepted.output
    again = call("accept", run)
    assert again.exit_code != 0
    assert "--force" in again.output
    assert call("accept", run, "--force").exit_code == 0
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    assert call("accept", run, "--to", tmp_path / "other").exit_code == 0
    assert (tmp_path / "other" / "reading.json").is_file()
    (run / "run.json").write_text(json.dumps(record | {"verdict": "violated"}), encoding="utf-8")
    assert "violated" in call("accept", run, "--force").output
    text = (place / "problem.md").read_text(encoding="utf-8")
    (place / "problem.md").write_text(text.replace("20 MWh", "24000 kWh"), encoding="utf-8")
    ended = call("run", place, "--out", tmp_path / "second", "--json")
    found = json.loads(ended.stdout)
    assert found["verdict"] == "certified"
    assert found["objective"]["value"] > 3866.59  # a larger store earns more
    (place / "problem.md").write_text(text.replace("never draw", "always draw"), encoding="utf-8")
    ended = call("run", place, "--out", tmp_path / "third", "--json")
    assert json.loads(ended.stdout)["verdict"] == "undecided"
    assert "always draw" in ended.output


def test_annotations_of_another_text_do_not_judge_the_plan(tmp_path: Path) -> None:
    place = tmp_path / "mine"
    shutil.copytree(corpus_root() / "battery" / "merchant_day", place)
    text = (place / "problem.md").read_text(encoding="utf-8")
    # By the annotated requirements more than 8 MW would be a violation.
    (place / "problem.md").write_text(text.replace("8 MW", "9 MW"), encoding="utf-8")
    assert call("run", place, "--out", tmp_path / "run").exit_code == 0
    certificate = json.loads((tmp_path / "run" / "certificate.json").read_text(encoding="utf-8"))
    assert certificate["verdict"] == "certified"
    assert certificate["levels"]["algebra"]["source"] == "blueprint"
    assert any("another text" in note for note in certificate["notes"])
