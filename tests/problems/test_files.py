"""Nothing outside a problem's folder is ever read, and no half-written file is ever seen."""

import os
from pathlib import Path

import pytest

from engiagent.errors import InputError
from engiagent.io.files import open_inside, write_atomic

LEAVING = [
    "../secret.csv",
    "a/../../secret.csv",
    "/etc/passwd",
    "~/secret.csv",
    "C:/secret.csv",
    "..\\secret.csv",
    "https://example.org/prices.csv",
    "file:///etc/passwd",
    "",
    " ",
    "./prices.csv",
    "a//prices.csv",
    "prices.csv\0.txt",
    "x" * 300,
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.csv").write_text("secret")
    inner = tmp_path / "problem"
    (inner / "data").mkdir(parents=True)
    (inner / "prices.csv").write_text("a\n1\n")
    (inner / "data" / "load.csv").write_text("b\n2\n")
    return inner


def test_reads_files_of_the_folder_and_below(folder: Path) -> None:
    assert open_inside(folder, "prices.csv") == b"a\n1\n"
    assert open_inside(folder, "data/load.csv") == b"b\n2\n"


@pytest.mark.parametrize("name", LEAVING)
def test_a_path_that_leaves_the_folder_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(InputError) as caught:
        open_inside(folder, name)
    assert "secret" not in str(caught.value).replace(repr(name), "")


@pytest.mark.parametrize("target", ["../secret.csv", "prices.csv", "/dev/zero"])
def test_links_are_not_followed(folder: Path, target: str) -> None:
    (folder / "link.csv").symlink_to(target)
    with pytest.raises(InputError, match=r"link\.csv is a symbolic link"):
        open_inside(folder, "link.csv")


def test_a_pipe_does_not_hang_and_a_folder_is_no_file(folder: Path) -> None:
    os.mkfifo(folder / "pipe.csv")
    for name in ("pipe.csv", "data"):
        with pytest.raises(InputError, match=r"no regular file|cannot be read"):
            open_inside(folder, name)


def test_an_absent_file_names_the_nearest_one(folder: Path) -> None:
    with pytest.raises(InputError, match=r"price\.csv is not there; did you mean prices\.csv\?"):
        open_inside(folder, "price.csv")


def test_a_file_over_the_limit_is_refused(folder: Path) -> None:
    assert open_inside(folder, "prices.csv", max_bytes=4)
    with pytest.raises(InputError, match=r"too large; found more than 3 bytes"):
        open_inside(folder, "prices.csv", max_bytes=3)


def test_atomic_write_replaces_and_leaves_nothing_behind(folder: Path) -> None:
    target = folder / "run.json"
    write_atomic(target, "ä\n")
    assert target.read_bytes() == "ä\n".encode()
    write_atomic(target, b"\x00\x01")
    assert target.read_bytes() == b"\x00\x01"
    assert sorted(p.name for p in folder.iterdir()) == ["data", "prices.csv", "run.json"]
    with pytest.raises(InputError, match="cannot be written"):
        write_atomic(folder / "absent" / "run.json", "x")
