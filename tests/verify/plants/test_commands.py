"""``engiagent check --disturb``: the section, its way into kept certificates and back."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from engiagent.cli.check import check
from tests.verify.plants.test_sites import PLAN, site
from tests.verify.plants.yard import text_of

SPEC = "home.power=5%, runs=20, seed=1"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "p" / "expert").mkdir(parents=True)
    (tmp_path / "p" / "problem.md").write_text("# A plan\n")
    (tmp_path / "p" / "expert" / "requirements.yaml").write_text(text_of(site(), 3))
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    return tmp_path


def asked(place: Path, *more: str) -> tuple[int, str]:
    """Return exit code and output of a check of the plan."""
    words = [str(place / "p"), "--solution", str(place / "plan.json"), *more]
    done = CliRunner().invoke(check, words, standalone_mode=False)
    assert done.exception is None or not isinstance(done.exception, SystemExit), done.output
    return (int(done.return_value) if done.exception is None else 2), done.output


def test_a_kept_certificate_with_disturbances_holds_until_a_number_changes(place: Path) -> None:
    code, text = asked(place, "--disturb", SPEC, "--out", str(place / "kept"))
    assert code == 8  # the quotes of these requirements do not stand in the text
    assert "limits hold in" in text
    kept = place / "kept" / "certificate.json"
    section = json.loads(kept.read_text())["levels"]["physics"]["disturbance"]
    assert section["spec"] == SPEC
    code, text = asked(place, "--certificate", str(kept))
    assert code == 0
    assert "the stored certificate holds" in text
    done = CliRunner().invoke(check, [str(place / "kept")], standalone_mode=False)
    assert "the stored certificate holds" in done.output
    code, text = asked(place, "--certificate", str(kept), "--disturb", f"{SPEC}1")
    assert code == 1
    assert "disturbance.seed" in text


def test_an_unknown_series_is_told_with_those_that_there_are(place: Path) -> None:
    code, text = asked(place, "--disturb", "garage.power=5%")
    assert code == 2
    assert "home.power" in text
