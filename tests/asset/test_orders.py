"""Orders: what is imported is listed, a draft counts for nothing, ranks follow from numbers."""

from pathlib import Path

import pytest

from engiagent.ask.cards import above_ceiling, packaged
from engiagent.slots import COMPONENTS
from engiagent.tools import Session
from engiagent.tools.asset.modes import lines
from engiagent.tools.registry import tools
from tests.asset.test_history import called, refused

ORDERS = """id,asset,mode,status,opened,site,due,closed,hours,cost
1,ch-1,condenser fouling,done,2025-01-01,north,,2025-01-03,4,300
2,ch-1,condenser fouling,done,2025-04-01,north,,2025-04-02,4,300
3,ch-1,condenser fouling,done,2025-07-05,north,,2025-07-06,4,320
4,ch-1,condenser fouling,done,2025-09-28,north,,2025-10-01,4,310
5,ch-1,condenser fouling,done,2026-01-01,north,,2026-01-03,4,300
6,pu-2,seal damage,open,2026-02-01,north,2026-03-01,,2,150
7,pu-3,bearing wear,open,2026-02-03,north,2026-03-05,,3,900
8,ah-1,stuck damper,open,2026-02-03,south,2026-03-04,,,200
9,ah-2,stuck damper,open,2026-02-03,north,2026-05-01,,1,
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "orders.csv").write_text(ORDERS, "utf-8")
    assert called(tmp_path, "wo_import", orders="orders.csv")["imported"] == 9
    return tmp_path


def test_orders_are_filtered_and_those_of_one_site_due_within_days_bundled(root: Path) -> None:
    found = called(root, "wo_list", site="north", status="open")
    assert [order["id"] for order in found["orders"]] == ["6", "7", "9"]
    found = called(root, "wo_bundle", days=7)["bundles"]
    assert [bundle["orders"] for bundle in found] == [["6", "7"], ["8"], ["9"]]
    assert (found[0]["hours"], found[1]["hours"]) == (5, None)


def test_the_next_order_follows_the_intervals_of_the_past(root: Path) -> None:
    found = called(root, "wo_next", today="2026-03-01", level=0.5)
    (likely,) = found["likely"]
    # 90, 95, 85, 95 days: the median is 92.5, and a new one is between the first and last with 3/5
    assert (likely["median_days"], likely["expected"]) == (92.5, "2026-04-03")
    assert (likely["earliest"], likely["latest"]) == ("2026-03-27", "2026-04-06")
    assert called(root, "wo_next", today="2026-03-01", level=0.9)["likely"][0]["earliest"] is None
    assert {few["mode"] for few in found["too_few"]} >= {"seal damage", "bearing wear"}


def test_the_next_order_is_that_of_a_state_and_of_a_site(root: Path) -> None:
    assert called(root, "wo_next", today="2026-03-01", status="open")["likely"] == []
    (done,) = called(root, "wo_next", today="2026-03-01", status="done")["likely"]
    assert done["past"] == 5
    lines = [n.replace("north", "south") for n in ORDERS.splitlines()[1:4:2]]
    lines += ["6,ch-1,condenser fouling,open,2026-02-01,south,2026-03-02,,2,150"]
    lines += ["7,ch-1,condenser fouling,open,2026-02-01,north,2026-03-02,,2,150"]
    more = "\n".join([ORDERS.splitlines()[0], *(f"1{line}" for line in lines)])
    (root / "more.csv").write_text(more.replace(",", ";").replace("150", "150,5"), "utf-8")
    called(root, "wo_import", orders="more.csv")
    found = called(root, "wo_next", today="2026-03-01", asset="ch-1")
    assert [(r["site"], r["past"]) for r in found["likely"]] == [("north", 6)]
    assert [(r["site"], r["past"]) for r in found["too_few"]] == [("south", 3)]
    bundles = called(root, "wo_bundle", days=9, by="asset")["bundles"]
    assert [b["orders"] for b in bundles if b["asset"] == "ch-1"] == [["16"], ["17"]]
    (rank,) = called(root, "wo_priority", losses=["16=10"], today="2026-03-01")["ranked"]
    assert (rank["site"], rank["cost"]) == ("south", 150.5)


def test_orders_rank_by_payback_and_unknown_ones_are_listed(root: Path) -> None:
    found = called(root, "wo_priority", losses=["6=10", "7=90", "9=5"], today="2026-03-06")
    assert [(r["id"], r["pays_back_days"]) for r in found["ranked"]] == [("7", 10), ("6", 15)]
    assert found["ranked"][1]["days_overdue"] == 5
    assert found["not_ranked"] == ["8", "9"]
    said = refused(root, "wo_priority", losses=["1=10"], today="2026-03-06")
    assert "no order '1' is open" in said


def test_a_draft_counts_for_nothing_until_a_person_confirms_it(root: Path) -> None:
    about = {"asset": "ch-1", "mode": "condenser fouling", "text": "x", "opened": "2026-04-01"}
    said = refused(root, "wo_draft", **about, due="2026-03-01")
    assert "due; found 2026-03-01; expected 2026-04-01" in said
    assert called(root, "wo_draft", **about)["order"]["id"] == "D1"
    assert called(root, "wo_list", status="open")["count"] == 4
    assert called(root, "wo_confirm", id="D1", person="Ann")["order"]["confirmed_by"] == "Ann"
    assert called(root, "wo_list", status="open")["count"] == 5
    assert "there is no draft 'D1'" in refused(root, "wo_confirm", id="D1", person="Ann")


def test_no_specialist_confirms_or_imports() -> None:
    known = tools()
    for name in ("wo_confirm", "wo_import"):
        assert known[name].destructive
        assert above_ceiling(name) is not None
        assert all(name not in card.tools for card in packaged().values())
        assert all(known[name].group not in card.groups for card in packaged().values())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("9,ah-2,stuck damper,open", "9,ah-2,stuck damper,waiting", "row 9: the status"),
        ("2026-03-04", "soon", "row 8: due is no date"),
        ("3,900", "3,much", "row 7: cost is no number"),
        ("9,ah-2", "8,ah-2", "there is an order '8' already"),
        ("3,900", "3,-900", "row 7: cost; found -900; expected 0 or more"),
        ("2025-07-06,4", "2025-07-06,-4", "row 3: hours; found -4"),
        ("2025-01-03,4", "2024-01-03,4", "row 1: closed; found 2024-01-03; expected 2025-01-01"),
        ("2026-03-04", "2026-02-02", "row 8: due; found 2026-02-02; expected 2026-02-03"),
    ],
)
def test_nothing_is_imported_unless_all_is_good(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    (tmp_path / "orders.csv").write_text(ORDERS.replace(old, new), "utf-8")
    assert said in refused(tmp_path, "wo_import", orders="orders.csv")
    seen = Session(tmp_path).call("wo_list", {})
    assert seen.status == "failed" or seen.content["count"] == 0


def test_modes_lead_to_what_shows_them_and_back_and_to_slots_of_models(tmp_path: Path) -> None:
    for mode in {line["mode"] for line in lines()}:
        for shown in called(tmp_path, "fmsr_sensors", mode=mode)["shown_by"]:
            back = called(tmp_path, "fmsr_modes", measures=shown["measures"], kind=shown["kind"])
            assert mode in {m["mode"] for m in back["modes"]}
    assert {s["source"] for s in lines("sources.csv")} == {line["source"] for line in lines()}
    assert "condenser fouling" in refused(tmp_path, "fmsr_sensors", mode="condenser foulin")
    models = {"ahu": ("fan", "air_handler"), "inverter": ("generator_profile", "heat_pump")}
    for line in lines():
        known = {s for m in models.get(line["kind"], (line["kind"],)) for s in COMPONENTS[m].slots}
        assert {slot for slot in line["slot"].split(";") if slot} <= known, line
