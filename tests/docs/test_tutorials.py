"""The page for readers of reports speaks of what is in one."""

import re
from html import unescape
from pathlib import Path

from engiagent.agents.runs import run_problem
from engiagent.text import locate

ROOT = Path(__file__).resolve().parents[2]


def test_the_headings_that_the_operator_is_told_of_are_in_the_report(tmp_path: Path) -> None:
    page = (ROOT / "docs/tutorials/building-operator.md").read_text("utf-8")
    named = {" ".join(words.split()) for words in re.findall(r"\*\*([^*]+)\*\*", page)}
    run_problem(locate("thermal/office_heat_pump"), "offline", tmp_path / "run")
    report = (tmp_path / "run/report.html").read_text("utf-8")
    headings = re.findall(r"<(h[1-4])[^>]*>(.*?)</\1>", report, re.S)
    shown = {unescape(re.sub(r"<[^>]+>", "", text)).strip() for _, text in headings}
    assert len(named) >= 8
    assert named <= shown
