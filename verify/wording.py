"""What a certificate claims, in a line each for people; no certificate rests on it."""

from collections.abc import Mapping
from typing import Any

from engiagent.verify.claims import EVIDENCE, GRADES, Override


def verdict_line(certificate: Mapping[str, Any]) -> str:
    """Return the verdict of a certificate with the values that the user changed or gave.

    >>> verdict_line({"verdict": "certified", "overrides": [
    ...     {"name": "energy_capacity", "before": 250.0, "after": 400.0, "unit": "kWh"}]})
    'certified with 1 value changed by the user: energy capacity 250 → 400 kWh'
    """
    changed = overrides_line(certificate)
    return f"{certificate.get('verdict')} {changed}" if changed else str(certificate.get("verdict"))


def overrides_line(certificate: Mapping[str, Any]) -> str:
    """Return which values the user changed or gave; empty for none."""
    every = [Override(**item) for item in certificate.get("overrides") or ()]
    parts = []
    for verb, some in (
        ("changed", [one for one in every if one.before is not None]),
        ("given", [one for one in every if one.before is None]),
    ):
        if some:
            noun = "value" if len(some) == 1 else "values"
            listed = ", ".join(map(str, some))
            parts.append(f"{len(some)} {noun} {verb} by the user: {listed}")
    return f"with {'; '.join(parts)}" if parts else ""


def not_established(certificate: Mapping[str, Any]) -> str:
    """Return the level and the item of the plan that could not be established; empty for none."""
    for name in ("algebra", "physics"):
        level = (certificate.get("levels") or {}).get(name) or {}
        if level.get("status") == "unchecked":
            rows = (c for c in level.get("checks") or () if c.get("status") == "unchecked")
            said = [f"{c.get('name') or c.get('id')}, {c.get('note') or 'unchecked'}" for c in rows]
            said += [*(level.get("findings") or ()), *(level.get("notes") or ())]
            return f"{name}: {said[0]}" if said else name
    return ""


def plan_line(certificate: Mapping[str, Any]) -> str:
    """Return in a line what is claimed of the plan, empty where nothing is."""
    plan = certificate.get("plan") or {}
    claim, holds = plan.get("claim"), plan.get("holds")
    if claim not in ("plan", "no plan"):
        return ""
    if claim == "no plan":
        proven = holds == "pass"
        return "none is allowed: the proof was recomputed" if proven else "none found; not proven"
    kept = {
        "pass": "holds on paper and when executed",
        "fail": "does not hold",
        "unchecked": "could not be checked in full",
    }[str(holds)]
    item = not_established(certificate)
    kept += f" ({item})" if holds == "unchecked" and item else ""
    return kept if holds == "fail" else f"{kept}; {EVIDENCE[str(plan.get('optimum'))]}"


def reading_line(certificate: Mapping[str, Any]) -> str:
    """Return in a line what is claimed of the reading, empty without a certificate."""
    reading = certificate.get("reading") or {}
    grade = str(reading.get("grade"))
    if grade not in GRADES or (certificate.get("plan") or {}).get("claim") == "nothing":
        return ""
    by = ", ".join(str(reading[key]) for key in ("by", "what") if reading.get(key))
    count = len(reading.get("open") or ())
    left = "" if not count else f"; {count} point{'' if count == 1 else 's'} of the text open"
    return f"{grade}: {GRADES[grade]}" + (f" ({by})" if by else "") + left
