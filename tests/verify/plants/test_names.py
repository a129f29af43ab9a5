"""What a component executes agrees with what its slot file says of it."""

import pytest

from engiagent.slots import COMPONENTS
from engiagent.units.unit import parse_unit
from engiagent.verify.plants import entry_of


@pytest.mark.parametrize("model", sorted(COMPONENTS))
def test_every_quantity_and_slot_that_executing_names_is_in_the_slot_file(model: str) -> None:
    entry, component = entry_of(model), COMPONENTS[model]
    words, slots = component.executed_series, component.executed_slots
    flows = (*entry.supplies.values(), *entry.demands.values())
    for word in (*flows, *entry.answered, *entry.only_with):
        assert word in words
    for word, limit in entry.limits:
        assert word in words
        assert limit in slots
    ports = {**component.connections, **component.checker.get("connections", {})}
    assert {*entry.supplies, *entry.demands, *entry.serves} <= set(ports)
    for unit in (*(q.unit for q in words.values()), *(s.unit for s in slots.values())):
        parse_unit(unit)
