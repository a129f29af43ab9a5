"""Numbers and units as people read them."""

import math
import re
from typing import Any

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PLAIN = ("+03", "+04", "+05")
_POWER = re.compile(r"\*\*(-?\d+)")
_UNITS = {"degC": "°C", "degF": "°F", "degC_diff": "K", "m2": "m²", "m3": "m³", "ohm": "Ω"}


def number(value: Any, digits: int = 6) -> str:
    r"""Return a number for people; what is no finite number becomes a dash.

    >>> number(-1234.5), number(2.5e-7), number(12345.6, 3), number(float("nan"))
    ('−1234.5', '2.5×10⁻⁷', '12\u202f300', '–')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value) if isinstance(value, str) else "–"
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    if exponent in _PLAIN:
        mantissa, exponent = f"{float(f'{value:.{digits}g}'):.0f}", ""
    if exponent:
        power = str(int(exponent)).translate(_SUPERSCRIPTS)
        return f"{mantissa}×10{power}".replace("-", "−")
    return _grouped("0" if mantissa == "-0" else mantissa).replace("-", "−")


def _grouped(digits: str) -> str:
    """Put narrow spaces between thousands from five digits on."""
    whole, point, rest = digits.partition(".")
    if len(whole.lstrip("-")) < 5:
        return digits
    return f"{int(whole):,}".replace(",", "\u202f") + point + rest


def unit(text: Any) -> str:
    """Return a unit as it is printed: °C for degC, nothing for a pure number.

    >>> unit("degC"), unit("W/(m2*K)"), unit("1")
    ('°C', 'W/(m²·K)', '')
    >>> unit("kV**2")
    'kV²'
    """
    if not isinstance(text, str) or text in ("", "1", "-"):
        return ""
    text = _POWER.sub(lambda match: match[1].translate(_SUPERSCRIPTS), text)
    parts: list[str] = []
    word = ""
    for char in text + " ":
        if (char.isalnum() and char not in "⁰¹²³⁴⁵⁶⁷⁸⁹") or char in "_%":
            word += char
            continue
        parts += [_UNITS.get(word, word), "·" if char == "*" else char]
        word = ""
    return "".join(parts).strip()


def quantity(value: Any, unit_text: Any, digits: int = 6) -> str:
    """Return a number with its unit, as ``12.5 kW``; a no-break space keeps them together."""
    shown = unit(unit_text)
    return f"{number(value, digits)}\u00a0{shown}" if shown else number(value, digits)
