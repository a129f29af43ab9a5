"""Values that the user gives with ``--set battery.efficiency=0.95``."""

import re
from collections.abc import Mapping
from typing import Final

from engiagent.agents.offline.amounts import amounts_in, kind_of
from engiagent.agents.offline.cards import Card, Slot, lexicon
from engiagent.agents.offline.draft import Draft, Json, Priced, Reading, Value
from engiagent.agents.offline.owners import Owners
from engiagent.agents.offline.slots import plausible
from engiagent.edits import by_user
from engiagent.errors import InputError

_PRICES: Final = {"import_price": "import", "export_price": "export", "price": "both"}


def apply(draft: Draft, owners: Owners, overrides: Mapping[str, str]) -> frozenset[str]:
    """Put the user's values in place of what was read; return the names that were given."""
    for name, text in overrides.items():
        component, _, slot_name = name.strip().partition(".")
        if component in ("site", "tariff", "grid") and slot_name in _PRICES:
            _price(draft, slot_name, name, text)
            continue
        owner, card = _card(owners, component, name)
        slot = _slot(card, slot_name, name)
        _settle(draft, owner, slot, name, text)
    return frozenset(overrides)


def _card(owners: Owners, component: str, name: str) -> tuple[str, Card]:
    for kind, card in lexicon().cards.items():
        instances = owners.instances(kind)
        if component in instances:
            return component, card
        if component == kind:
            return ("*" if len(instances) != 1 else instances[0]), card
        if component.endswith(f"_{kind}"):
            return component, card
    if component in ("heat_pump", "heatpump"):
        return "*", lexicon().cards["heater"]
    known = sorted({*lexicon().cards, *(i for k in lexicon().cards for i in owners.instances(k))})
    raise InputError(
        f"--set {name}: unknown component {component!r}", expected=", ".join([*known, "site"])
    )


def _slot(card: Card, slot_name: str, name: str) -> Slot:
    wanted = re.sub(r"[\s-]+", "_", slot_name.strip().lower())
    wanted = lexicon().aliases.get(card.component, {}).get(wanted, wanted)
    slot = card.slots.get(wanted)
    if slot is None or slot.options.get("ambiguous"):
        names = [s for s, k in card.slots.items() if not k.options.get("ambiguous")]
        names += list(lexicon().aliases.get(card.component, {}))
        raise InputError(
            f"--set {name}: {card.component} has no slot {slot_name!r}",
            expected=", ".join(sorted(set(names))),
        )
    return slot


def _settle(draft: Draft, owner: str, slot: Slot, name: str, text: str) -> None:
    amounts = amounts_in(text, 0, len(text), None)
    if len(amounts) != 1 or amounts[0].quote != text.strip():
        raise InputError(
            f"--set {name}: cannot read the value", found=repr(text), expected=_example(slot)
        )
    amount = amounts[0]
    unit = amount.unit or ("1" if slot.unit == "%" else slot.unit)
    kind = kind_of(unit) if amount.unit else slot.kinds[0]
    fits = kind in slot.kinds or (slot.unit == "%" and kind in ("number", "percent"))
    value = Value(unit or "1", source(name, text, amount.value, unit or "1"), amount.value)
    from dataclasses import replace

    if not fits or not plausible(slot, replace(amount, unit=unit, kind=kind)):
        raise InputError(
            f"--set {name}: this is no {slot.said}", found=repr(text), expected=_example(slot)
        )
    _forget(draft, owner, slot, value)
    bound = slot.bounds[0] if "value" not in slot.bounds else "value"
    draft.readings.append(Reading(owner, slot, value, bound, -1, (0, 0), name))


def source(name: str, text: str, number: float, unit: str) -> Json:
    """Return the provenance of a value of the user."""
    change = {"name": name.strip(), "before": None, "after": number, "unit": unit}
    return by_user(f"--set {name}={text}", change)


def replacing(value: Value, stated: Value) -> None:
    """Note in the provenance of a value of the user what the text states."""
    change = value.source["replaces"][0]
    if stated.number is None:
        change["before"] = stated.data or "a series"
    elif stated.unit == change["unit"]:
        change["before"] = stated.number
    else:
        change["before"] = f"{stated.number:g} {stated.unit}"


def _example(slot: Slot) -> str:
    unit = "" if slot.unit in ("", "1") else f" {slot.unit}"
    low, high = slot.low, slot.high
    return f"a value such as '{'95' if slot.unit == '%' else '5'}{unit}', from {low:g} to {high:g} {slot.range_unit}"  # noqa: E501


def targets(slot: Slot) -> set[str]:
    """Return the parameters of the model that a slot settles."""
    fills = set(slot.options.get("fills", ())) | set(slot.options.get("derive", {}))
    return fills or {slot.name}


def _forget(draft: Draft, owner: str, slot: Slot, value: Value) -> None:
    """Drop what the text says for the same parameters, and doubts about them."""
    gone = targets(slot)
    kept = []
    for reading in draft.readings:
        same = reading.slot.component == slot.component and owner in ("*", reading.owner)
        if not (same and targets(reading.slot) <= gone):
            kept.append(reading)
        else:
            replacing(value, reading.value)
    draft.readings[:] = kept
    words = {"efficiency"} if any("efficiency" in g for g in gone) else {slot.said}
    draft.ambiguous[:] = [a for a in draft.ambiguous if not any(w in a.message for w in words)]


def _price(draft: Draft, slot_name: str, name: str, text: str) -> None:
    amounts = amounts_in(text, 0, len(text), None)
    if len(amounts) != 1 or amounts[0].kind != "price":
        raise InputError(
            f"--set {name}: cannot read the price", found=repr(text), expected="as '0.30 EUR/kWh'"
        )
    role = _PRICES[slot_name]
    value = Value(
        amounts[0].unit,
        source(name, text, amounts[0].value, amounts[0].unit or "1"),
        amounts[0].value,
    )
    for price in draft.prices:
        if price.role == role:
            replacing(value, price.value)
    draft.prices[:] = [p for p in draft.prices if p.role != role]
    for key in ("price", "import_price", "export_price"):
        if key == slot_name:
            draft.series.pop(("site", key), None)
    draft.prices.append(Priced(role, value, None, -1, (0, 0)))
