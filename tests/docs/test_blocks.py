"""Whoever follows a page gets what it says: every block of it, from top to bottom."""

import re
from pathlib import Path

import pytest

from engiagent.tools.registry import tools
from tests.docs.blocks import Block, Follower, Said, blocks, commands, shown

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (".", "benchmarks", "docs", "docs/*", "notebooks")
PAGES = sorted(page for folder in FOLDERS for page in ROOT.glob(f"{folder}/*.md"))
INSTALLED = "docs/tutorials/"
"""Pages for whoever has the package and no checkout."""
BY_OTHERS = ("energy-engineer", "building-operator")
"""Those of them that tests/packaging follows with an installation."""
HERE = [page for page in PAGES if page.stem not in BY_OTHERS]
ELSEWHERE = {
    "docs/agents.md": ("python", "tests/agents/test_anthropic_runs.py"),
    "docs/definitions.md": ("python", "tests/test_docs.py"),
    "docs/mcp.md": ("python", "tests/mcp/test_session.py"),
}
"""Blocks that need what a page cannot give: their language, and the test that has it."""
OURS = re.compile(r"^(\$ )?(\w+=\S+ )*engiagent ", re.MULTILINE)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", HERE, ids=name_of)
def test_a_page_can_be_followed(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if not name_of(page).startswith(INSTALLED):
        (tmp_path / "problems").symlink_to(ROOT / "problems")
    follower, excused = Follower(), ELSEWHERE.get(name_of(page), ("", ""))[0]
    for block in blocks(page, ROOT):
        if block.language != excused:
            follower.follow(block)


@pytest.mark.parametrize("page", ["grid", "market", "asset"])
def test_every_tool_of_a_field_has_a_call_on_its_page(page: str) -> None:
    called = {
        word
        for block in blocks(ROOT / f"docs/{page}.md", ROOT)
        for word in re.findall(r"engiagent tool (\w+)|session\.call\(\"(\w+)\"", block.text)
    }
    listed = {t.name for t in tools().values() if f"tools.{page}." in t.work.__module__}
    assert listed
    assert listed <= {name for pair in called for name in pair}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_command_of_ours_stands_where_it_is_not_run(page: Path) -> None:
    for block in blocks(page, ROOT):
        assert block.language, f"{block}: a fenced block says what it is"
        assert block.language not in ("py", "bash", "shell", "pycon"), str(block)
        if block.language == "sh":
            assert not OURS.search(block.text), f"{block}: write it as console, so that it is run"


@pytest.mark.parametrize("page", ELSEWHERE)
def test_what_is_excused_is_tested_elsewhere(page: str) -> None:
    language, test = ELSEWHERE[page]
    assert Path(page).name in (ROOT / test).read_text("utf-8")
    assert any(block.language == language for block in blocks(ROOT / page, ROOT))


def block(language: str, text: str, info: str = "") -> Block:
    return Block("page.md", 1, language, info, text)


@pytest.mark.parametrize(
    "wrong",
    [
        block("python", "1 + 1  # 3\n"),
        block("python", "1 / 0\n"),
        block("console", "$ engiagent --version\nno such words\n"),
        block("console", "$ engiagent lint absent.json\n"),
        block("console", "$ rm -rf /\n"),
        block("text", "never printed\n", "printed"),
        block("json", '{"open": '),
        block("yaml", "a: [1"),
        block("text", "engiagent run PROBLEM --no-such-option\n"),
    ],
    ids=lambda b: f"{b.language} {b.text.strip()}",
)
def test_a_block_that_is_wrong_is_found(
    wrong: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception):  # noqa: B017, PT011 - each kind complains in its own way
        Follower().follow(wrong)


def test_a_file_is_made_once_and_then_held_to_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    follower = Follower(lambda words: Said(0, " ".join(words), "said\n"))
    follower.follow(block("csv", "a,b\n1,2\n", "data/x.csv"))
    follower.follow(block("csv", "1,2\n", "data/x.csv"))
    with pytest.raises(AssertionError):
        follower.follow(block("csv", "1,3\n", "data/x.csv"))
    follower.follow(block("console", "$ engiagent one \\\n  two > out.txt\nsaid\n"))
    assert Path("out.txt").read_text() == "one two"


def test_output_may_leave_out_what_differs() -> None:
    assert shown("objective  … EUR", "objective  12.5 EUR\n")
    assert not shown("objective  … EUR", "objective  12.5\nEUR")
    assert list(commands("$ a\nx\n\n$ b\n")) == [("a", ["x"]), ("b", [])]
