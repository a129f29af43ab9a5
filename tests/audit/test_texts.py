"""What an audit says of problem texts in many wordings."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from engiagent.audit import Audit, audit_path
from engiagent.cli.app import app
from engiagent.problems import corpus_root
from tests.audit.texts import CASES, INNOCENT, Case


def audited(case: Case, folder: Path) -> Audit:
    (folder / "problem.md").write_text(case.text)
    for name, content in case.files.items():
        (folder / name).write_text(content)
    return audit_path(folder)


def _key(path: Path) -> str:
    return f"{path.parent.parent.name}/{path.parent.name}"


@pytest.mark.parametrize("name", CASES)
def test_a_text_is_judged_by_its_worst_finding(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    found = audited(case, tmp_path)
    assert found.verdict == case.verdict, found.to_dict()
    if not case.code:
        assert not found.findings
        assert bool(found.not_understood) == (case.verdict == "undecided")
        return
    named = [f for f in found.findings if f.code == case.code]
    assert [f for f in named if case.subject in ("", f.subject)], [f.subject for f in named]
    places = [p for f in named for p in (*f.places, *(q for m in f.parts for q in m.places))]
    for quote in case.quotes:
        assert any(quote in place.quote for place in places), places


@pytest.mark.parametrize("name", INNOCENT)
def test_nothing_is_laid_to_a_text_that_was_not_understood(name: str, tmp_path: Path) -> None:
    text, files = INNOCENT[name]
    found = audited(Case(text, files, "undecided"), tmp_path)
    assert not found.of("missing"), found.to_dict()
    assert not found.of("contradictory"), found.to_dict()
    if found.verdict != "complete":
        assert found.not_understood


@pytest.mark.parametrize("problem", sorted(corpus_root().glob("*/*/problem.md")), ids=_key)
def test_of_the_corpus_only_what_its_experts_say_is_missing_or_clashes(
    problem: Path, tmp_path: Path
) -> None:
    folder = problem.parent
    answer = json.loads((folder / "expert" / "answer.json").read_text())
    for path in folder.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    found = audit_path(tmp_path, seconds=5.0)
    if found.of("missing"):
        assert answer.get("missing"), found.to_dict()
    if found.of("contradictory"):
        assert answer.get("contradiction") or answer["verdict"] == "proven infeasible"
    if answer["verdict"] != "certified" and answer["verdict"] != "feasible":
        assert found.verdict != "complete"


@pytest.mark.parametrize("name", [n for n, case in CASES.items() if case.code == "infeasible"])
def test_demands_that_clash_bring_a_checked_and_irreducible_proof(
    name: str, tmp_path: Path
) -> None:
    found = audited(CASES[name], tmp_path)
    (finding,) = [f for f in found.findings if f.code == "infeasible"]
    assert finding.proven
    assert finding.proof is not None
    assert finding.proof["irreducible"]
    assert len(finding.parts) > 1


@pytest.mark.parametrize(
    ("name", "code"), [("trading", 0), ("no start", 4), ("heater too weak", 3), ("cop of 30", 0)]
)
def test_the_command_ends_with_the_code_of_its_verdict(
    name: str, code: int, tmp_path: Path
) -> None:
    audited(CASES[name], tmp_path)
    result = CliRunner().invoke(app, ["audit", str(tmp_path), "--json"])
    assert json.loads(result.stdout)["verdict"] == CASES[name].verdict
    assert result.exit_code == code, result.output
