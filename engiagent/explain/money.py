"""What a gain of the objective is called, and the unit of a price."""

from engiagent.explain.labels import shown
from engiagent.explain.limits import difference_unit
from engiagent.units.unit import CURRENCIES, UnitError, parse_unit


def is_money(unit: str) -> bool:
    """Whether a unit is one of a currency and nothing else.

    >>> is_money("ct_EUR"), is_money("EUR/kWh"), is_money("kWh")
    (True, False, False)
    """
    try:
        dimension = parse_unit(unit).dimension
        return len(dimension) == 1 and dimension[0][1] == 1 and dimension[0][0] in _currencies()
    except UnitError:
        return False


def _currencies() -> set[str]:
    return set(CURRENCIES)


def gain_words(amount: float, unit: str, sense: str, name: str) -> str:
    """Return what an improvement does to the objective.

    >>> gain_words(0.35, "EUR", "minimize", "cost")
    'save 0.35 EUR'
    >>> gain_words(12.0, "kg", "minimize", "emissions")
    'lower emissions by 12 kg'
    """
    if is_money(unit):
        return f"{'save' if sense == 'minimize' else 'earn'} {shown(amount, unit)}"
    verb = "lower" if sense == "minimize" else "raise"
    return f"{verb} {name} by {shown(amount, unit)}"


def price_unit(objective: str, unit: str) -> str:
    """Return the unit of the objective by a quantity.

    >>> price_unit("EUR", "degC"), price_unit("EUR", "kW"), price_unit("EUR", "1")
    ('EUR/K', 'EUR/kW', 'EUR')
    """
    over = difference_unit(unit)
    if over in ("", "1"):
        return objective
    plain = over.replace("_", "").isalnum()
    return f"{objective}/{over}" if plain else f"{objective}/({over})"
