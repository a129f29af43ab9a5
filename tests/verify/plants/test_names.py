"""One set of names: the checker's, the formulations', and the page that lists them."""

from pathlib import Path

import pytest

from engiagent.formulations.components import MODELS as FORMULATIONS
from engiagent.units.unit import parse_unit
from engiagent.verify.plants import MODELS, entry_of
from engiagent.verify.plants.page import units_page
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.vocabulary import SERIES

ROOT = Path(__file__).parents[3]


def test_the_page_is_what_the_tables_say() -> None:
    assert (ROOT / "docs" / "units.md").read_text(encoding="utf-8") == units_page()


@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_model_has_its_slots_and_quantities(model: str) -> None:
    unit = entry_of(model)
    assert unit.model == model
    assert unit.slots is SLOTS[model]
    words = SERIES[model]
    for word in (*unit.supplies.values(), *unit.demands.values(), *unit.answered, *unit.only_with):
        assert word in words
    for word, limit in unit.limits:
        assert word in words
        assert limit in unit.slots
    for meaning in words.values():
        parse_unit(meaning.unit)
    for slot in unit.slots.values():
        parse_unit(slot.unit)


@pytest.mark.parametrize("model", sorted(set(FORMULATIONS) & set(MODELS)))
def test_formulations_and_checker_take_the_same_parameters_in_the_same_units(model: str) -> None:
    for name, slot in FORMULATIONS[model].slots.items():
        own = SLOTS[model][name]
        assert parse_unit(own.unit) == parse_unit(slot.unit), name
        assert not (slot.table and own.kind != "table"), name
