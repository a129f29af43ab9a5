"""Cold made all night into a buffer: whole phrases on machines, stores and those they serve."""

from pathlib import Path

import pytest

from tests.agents.support import analysed, solved

TEXT = """
Dear colleagues, this is planned hour by hour. {need} {sold}

{on} {surplus}
{capacity} {start} {end} {served}

At 0.068 kWh/kBTU of electricity and 13 ct/kWh (US cents), what is the least cost of the night in
USD?
"""
PARTS = {
    "need": "The cleanrooms of our laboratory need 640 kBTU/h of cooling all night.",
    "sold": "We have sold the small machine and would like to get through the night of 4 November"
    " 2026, from 00:00 to 06:00, with the large one alone.",
    "on": "A restart needs a technician, so it stays on all night, and then it gives between"
    " 690 kBTU/h and 1900 kBTU/h.",
    "surplus": "There is no bypass, so what it makes beyond the 640 kBTU/h goes into the buffer,"
    " and what it does not make comes from there.",
    "capacity": "The buffer takes 400 kBTU of cold in all;",
    "start": "at 00:00 there are 90 kBTU in it.",
    "end": "It never needs to be anything in particular at 06:00.",
    "served": "The cleanrooms must get exactly what they need in each hour.",
}
SAME = {
    "need": ("The halls require 640 kBTU/h of cold round the clock.",
             "The server rooms need a constant 640 kBTU/h of chilled water.",
             "The laboratory needs 640,000 BTU/h of cooling without a break."),
    "sold": ("We scrapped the old chiller and want to get through the night of 4 November 2026,"
             " from 00:00 to 06:00, with the new one only.",
             "It is about the night of 4 November 2026, from 00:00 to 06:00."),
    "on": ("The machine is never switched off, and it makes between 690 kBTU/h and 1900 kBTU/h of"
           " cold.",
           "The chiller must not be stopped; it delivers between 690 kBTU/h and 1900 kBTU/h of"
           " cooling.",
           "The unit runs continuously and gives between 690 kBTU/h and 1900 kBTU/h of cold."),
    "surplus": ("Whatever it gives above the load is stored in the buffer; the shortfall is taken"
                " from it.", ""),
    "capacity": ("The tank has room for 400 kBTU of cold when full;",
                 "A cold store can take up to 400 kBTU;"),
    "start": ("at 00:00 it holds 90 kBTU of cold.", "at 00:00 there is still 90 kBTU left in it."),
    "end": ("What is left in it at 06:00 is of no use.",
            "Its level does not have to be at any particular value in the end.", ""),
    "served": ("The laboratory has to be supplied in full at all times.",
               "Everybody gets exactly what they need.", "The cleanrooms must be cooled fully."),
}  # fmt: skip
COST = 690 * 6 * 0.068 * 0.13


def written(**changes: str) -> str:
    return TEXT.format(**{**PARTS, **changes})


@pytest.mark.parametrize("k", range(-1, 3))
def test_a_night_of_one_machine_in_several_words(tmp_path: Path, k: int) -> None:
    changes = {} if k < 0 else {part: texts[k % len(texts)] for part, texts in SAME.items()}
    analysis = analysed(tmp_path, written(**changes))
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    status, objective = solved(analysis, tmp_path)
    assert status == "optimal"
    assert objective == pytest.approx(COST, rel=1e-9)


def test_a_least_output_that_fills_the_buffer(tmp_path: Path) -> None:
    text = written(on=PARTS["on"].replace("690", "760"))
    assert solved(analysed(tmp_path, text), tmp_path)[0] == "infeasible"


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("need", "The cleanrooms of our laboratory need up to 640 kBTU/h of cooling."),
        ("need", "The cleanrooms need 640 kBTU/h of cooling when they are in use."),
        ("need", "The cleanrooms need 640 kBTU/h of cooling and the offices 100 kBTU/h."),
        ("sold", "We have sold the small machine from 03:00 on; the night is that of 4 November"
         " 2026, from 00:00 to 06:00."),
        ("on", "It stays on all night if it is warm, and then it gives between 690 kBTU/h and"
         " 1900 kBTU/h."),
        ("on", "It stays on until 04:00, and it gives between 690 kBTU/h and 1900 kBTU/h."),
        ("surplus", "What it makes beyond the 600 kBTU/h goes into the buffer, and what it does not"
         " make comes from there."),
        ("surplus", "What it makes beyond the need is wasted."),
        ("capacity", "The buffer takes 400 kBTU of cold, but not more than 300 kBTU at night;"),
        ("start", "at 02:00 there are 90 kBTU in it."),
        ("start", "at 00:00 there must be at least 90 kBTU in it."),
        ("end", "It does not need to be anything in particular at 05:00."),
        ("end", "It needs to be full at 06:00."),
        ("served", "The cleanrooms must get at least half of what they need in each hour."),
        ("served", "Only the cleanrooms must get exactly what they need."),
        ("served", "The cleanrooms must get exactly what they need until 05:00."),
    ],
)  # fmt: skip
def test_near_misses(tmp_path: Path, part: str, text: str) -> None:
    assert not analysed(tmp_path, written(**{part: text})).complete, text
