"""The little reader of numbers in a text."""

import pytest

from engiagent.verify.figures import figures


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8 MW", [(8, "MW")]),
        ("1,200.5 kWh", [(1200.5, "kWh")]),
        ("50 000 kWh/yr", [(50000, "kWh/yr")]),
        ("\u22124.5 \u00b0C", [(-4.5, "degC")]),
        ("10 % and 95 % of it", [(10, "%"), (95, "%")]),
        ("EUR 5 per MWh", [(5, "EUR/MWh")]),
        ("\u20ac0.12/kWh.", [(0.12, "EUR/kWh")]),
        ("7.50 EUR for every MWh delivered", [(7.5, "EUR/MWh")]),
        ("from 06:00 to 10:30", [(6, "h"), (10.5, "h")]),
        ("from 8 a.m. to 6 p.m., both included", [(8, "h"), (18, "h")]),
        ("12 am, 12:30 PM and 5:15pm", [(0, "h"), (12.5, "h"), (17.25, "h")]),
        ("9 amps, 3 p. m. sharp, 4 pm2", [(15, "h"), (9, "None"), (4, "None")]),
        ("at most 20 kW and", [(20, "kW")]),
        ("two point 3.1", [(3.1, "None"), (2, "None")]),
        ("from noon to 8 p.m., then to midnight", [(20, "h"), (12, "h"), (0, "h"), (24, "h")]),
        ("$w = 4$ cents per $\\mathrm{K}^2$ and hour", [(4, "ct_EUR/K^2/hour"), (2, "None")]),
        ("1 ton = 12 kBtu/h", [(1, "TR"), (12, "kBtu/h"), (12, "kBtu/h/TR")]),
        ("half full", [(0.5, "None"), (1, "None")]),
        ("6.5 kWh/K", [(6.5, "kWh/K")]),
        ("3 million kWh", [(3e6, "kWh")]),
        ("no number at all", []),
    ],
)
def test_numbers_are_read_with_their_units(text: str, expected: list[tuple[float, str]]) -> None:
    assert [(f.value, str(f.unit)) for f in figures(text)] == expected
