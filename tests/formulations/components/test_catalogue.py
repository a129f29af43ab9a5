"""The page on components and the table of models: both say what the code does."""

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from engiagent.blueprint.analysis import analyse
from engiagent.errors import EngiagentError
from engiagent.formulations.components import MODELS
from engiagent.formulations.expansion import expand
from engiagent.plant.site import Site
from engiagent.units.unit import parse_unit

HERE = Path(__file__).parent
FULL: dict[str, dict[str, Any]] = YAML(typ="safe").load(
    (HERE / "instances.yaml").read_text("utf-8")
)
REFUSED: list[tuple[str, str, dict[str, Any], str]] = YAML(typ="safe").load(
    (HERE / "refused.yaml").read_text("utf-8")
)


def site_with(model: str, slots: dict[str, Any], periods: int) -> Site:
    """Return a site with a component ``unit`` and what it cannot be without."""
    site = Site(start="2025-01-01T00:00", step="1 h", periods=periods)
    if model == "demand_response":
        site.add("grid", "grid")
    if model in ("air_handler", "vav_box"):
        site.add("hall", "thermal_zone", capacitance=2, initial_temperature=20)
    if model == "vav_box":
        site.add("ahu", "air_handler", **(FULL["air_handler"] | {"zone": None}))
    if model == "feeder":
        site.add("grid", "grid", bus="a", import_power_max=9)
        site.add("load", "load", bus="b", power=1)
    site.add("unit", model, **slots)
    return site


def test_every_model_has_an_instance_here() -> None:
    assert set(FULL) == set(MODELS)


@pytest.mark.parametrize("model", sorted(MODELS))
def test_a_full_instance_has_the_quantities_of_the_page_and_no_finding(model: str) -> None:
    site = site_with(model, FULL[model], 3)
    document = expand(site.blueprint())
    errors = [d for d in analyse(document, None).diagnostics if d.severity == "error"]
    assert not errors, errors
    core = document.core
    owner = "zone.unit." if model == "thermal_zone" else "unit."
    declared = {series: q.unit for series, q in MODELS[model].quantities.items()}
    if model == "emitter":  # on a bus of cold it has the other one
        declared.pop("cooling")
    pairs = [(v.quantity, v.unit) for v in core.decision_variables]
    pairs += [(e.quantity, e.unit) for e in core.expressions]
    # A feeder has a voltage by bus, a network its powers by node.
    pairs = [(q and re.sub(r"\.[ab]\.", ".<bus>.", q), u) for q, u in pairs]
    pairs = [(q and re.sub(r"([._])b$", r"\1<node>", q), u) for q, u in pairs]
    found = {q.removeprefix(owner): u for q, u in pairs if q is not None and q.startswith(owner)}
    for series, unit in found.items():
        assert series in declared, f"{model}.{series} is not on the page"
        assert parse_unit(unit or "1").dimension == parse_unit(declared[series]).dimension
    assert set(declared) <= set(found), f"not built: {set(declared) - set(found)}"


@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_model_names_what_it_needs_and_what_it_does_not_know(model: str) -> None:
    required = [name for name, slot in MODELS[model].slots.items() if slot.required]
    site = Site(start="2025-01-01T00:00", step="1 h", periods=3)
    site.add("unit", model)
    if required:
        with pytest.raises(EngiagentError, match=f"unit.*the parameter {required[0]} is not given"):
            expand(site.blueprint())
    with pytest.raises(EngiagentError, match="unknown slot 'colour'"):
        site.add("other", model, colour="red")


@pytest.mark.parametrize("model", sorted(MODELS))
def test_no_slot_takes_what_is_no_number_or_of_another_dimension(model: str) -> None:
    for name, slot in MODELS[model].slots.items():
        not_finite = rf'parameters\.{name} "unit": a number that is not finite'
        of_money = rf"unit \({model}\): {name}.*USD"
        for bad, words in ((float("nan"), not_finite), ("3[USD]", of_money)):
            if isinstance(bad, float) and slot.table:
                continue
            site = Site(start="2025-01-01T00:00", step="1 h", periods=3)
            given: dict[str, Any] = {**FULL[model], name: bad}
            site.add("unit", model, **given)
            with pytest.raises(EngiagentError, match=words):
                expand(site.blueprint())


@pytest.mark.parametrize(
    ("model", "slots", "message"),
    [(model, slots, message) for model, _, slots, message in REFUSED],
    ids=[f"{model}: {what}" for model, what, _, _ in REFUSED],
)
def test_what_cannot_be_is_refused(model: str, slots: dict[str, Any], message: str) -> None:
    site = Site(start="00:00", step="1 h", periods=2)
    site.add("unit", model, **slots)
    with pytest.raises(EngiagentError) as caught:
        expand(site.blueprint())
    assert f"component unit ({model})" in str(caught.value)
    assert message in str(caught.value)
