"""Text tables as spreadsheets and tools write them, made plain before the strict reader sees them.

Lines keep their numbers: what is taken away becomes blank, so that every later error still names
the place in the file as it is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from engiagent.errors import InputError
from engiagent.io.tableformats import read_csv
from engiagent.io.tabular import TableColumn, is_number
from engiagent.units.headers import split_header
from engiagent.units.words import resolve_unit

MAX_PREAMBLE: Final = 50
_MARK: Final = re.compile(r"sep=(.)\s*", re.I)
_SPACES: Final = " \u00a0\u202f"
_QUOTED_FIELD: Final = re.compile(r'"[^"\n]*"')
_GROUPED: Final = {
    mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}(?:{mark}\d{{3}})+(?:{decimal}\d+)?", re.A)
    for mark, decimal in (
        (",", r"\."),
        (r"\.", ","),
        (rf"[{_SPACES}]", "[.,]"),
        ("['\u2019]", "[.,]"),
    )
}
_ONE_GROUP: Final = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}", re.A)
_PLAIN: Final = re.compile(r"[+-]?\d+([.,])\d+(?:[eE][+-]?\d{1,3})?", re.A)
_UNIT_BEHIND: Final = re.compile(r"\s*[^\d.,]{1,8}$", re.A)
_NUMBER_AND_UNIT: Final = re.compile(r"([+-]?[\d.,]+(?:[eE][+-]?\d+)?)\s*(\D\S{0,15})", re.A)


@dataclass(frozen=True)
class Table:
    """The columns of a file, and what was assumed on reading it."""

    columns: tuple[TableColumn, ...]
    notes: tuple[str, ...] = ()


def read_delimited(data: bytes, file: str, decimal: str | None = None) -> Table:
    """Return the columns of a CSV file; numbers in its cells have a decimal point and no groups.

    Parameters
    ----------
    data, file
        The file's bytes and its name.
    decimal
        The decimal mark, where the file does not show which it is.

    Raises
    ------
    InputError
        With file, line and column.
    """
    text, notes = _decoded(data, file)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    separator = _separator_line(lines, file)
    if separator is None:
        separator = _separator(lines)
        _drop_preamble(lines, separator, notes)
    header = next((k for k, line in enumerate(lines) if _filled(line)), None)
    if header is None:
        raise InputError("the file is empty", file)
    _name_first_column(lines, header, separator)
    _drop_empty_ends(lines, separator)
    _merge_units(lines, header, separator)
    mark = _plain_numbers(lines, header, separator, decimal, file, notes)
    if not any(_filled(line) for line in lines[header + 1 :]):
        raise InputError("a schedule needs a header and at least one row", file)
    columns = read_csv("\n".join(lines).encode(), file, separator, mark)
    return Table(tuple(_without_units(column) for column in columns), tuple(notes))


def _decoded(data: bytes, file: str) -> tuple[str, list[str]]:
    if not data:
        raise InputError("the file is empty", file)
    try:
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            text, notes = data.decode("utf-16"), [f"{file} is read as UTF-16"]
        else:
            text, notes = data.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError("no text in UTF-16", file) from None
        line = data.count(b"\n", 0, error.start) + 1
        body = data[data.index(b"\n") :] if b"\n" in data else b""
        if not body.isascii():
            found = f"the byte 0x{data[error.start]:02x}"
            raise InputError("no text in UTF-8", file, line, found=found) from None
        text, notes = data.decode("cp1252", errors="replace"), []
        notes.append(f"{file} is no UTF-8: its header is read as Windows-1252")
    if "\0" in text:
        raise InputError("a NUL character", file, text.count("\n", 0, text.index("\0")) + 1)
    return text, notes


def _filled(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _separator_line(lines: list[str], file: str) -> str | None:
    """Return the separator that a first line such as ``sep=;`` names, and blank that line."""
    match = _MARK.fullmatch(lines[0])
    if match is None:
        return None
    if match[1] not in ",;\t":
        raise InputError("unknown separator", file, 1, found=repr(match[1]))
    lines[0] = ""
    return match[1]


def _separator(lines: list[str]) -> str:
    """Return the separator that most lines share; a tie goes to the one that is never a decimal."""
    sample = [_QUOTED_FIELD.sub("", line) for line in lines[:200] if _filled(line)][
        : MAX_PREAMBLE * 2
    ]
    counts = {s: [line.count(s) for line in sample] for s in (";", "\t", ",")}
    tail = {s: c[len(c) // 2 :] for s, c in counts.items()}
    for symbol, found in tail.items():
        if found and min(found) > 0:
            return symbol
    return (
        max(tail, key=lambda s: sum(n > 0 for n in tail[s]))
        if any(any(found) for found in tail.values())
        else ","
    )


def _drop_preamble(lines: list[str], separator: str, notes: list[str]) -> None:
    """Blank titles above the header: lines without a separator, above lines that have one."""
    filled = [k for k, line in enumerate(lines[: MAX_PREAMBLE * 2]) if _filled(line)]
    first = next((k for k in filled if separator in lines[k]), None)
    above = [k for k in filled if first is not None and k < first][:MAX_PREAMBLE]
    if not above or first is None:
        return
    for k in above:
        lines[k] = ""
    notes.append(f"the lines above line {first + 1} hold no columns and are skipped")


def _name_first_column(lines: list[str], header: int, separator: str) -> None:
    """Name a first column without a header, which is the index of a table, by what it is."""
    rest = lines[header].lstrip(" ")
    for empty in (separator, f'""{separator}'):
        if rest.startswith(empty):
            lines[header] = f"index{separator}" + rest[len(empty) :]


def _drop_empty_ends(lines: list[str], separator: str) -> None:
    """Take away separators with which every line ends."""
    header = next((line for line in lines if _filled(line)), "")
    if not header.rstrip(" ").endswith(separator):
        return
    filled = [k for k, line in enumerate(lines) if _filled(line)]
    while filled and all(lines[k].rstrip(" ").endswith(separator) for k in filled):
        if separator == "," and len(filled) < 2:
            return
        if any(lines[k].count(separator) < 1 for k in filled):
            return
        for k in filled:
            lines[k] = lines[k].rstrip(" ")[: -len(separator)]
        if not any(line.strip(separator + " ") for line in (lines[k] for k in filled)):
            return


def _merge_units(lines: list[str], header: int, separator: str) -> None:
    """Put a row of units below the header into the header."""
    below = next((k for k in range(header + 1, len(lines)) if _filled(lines[k])), None)
    if below is None or '"' in lines[header]:
        return
    titles, cells = (lines[k].split(separator) for k in (header, below))
    bare = [cell.strip().strip('"').strip("[]()").strip() for cell in cells]
    units = [cell for cell in bare if cell and cell != "-"]
    if len(titles) != len(cells) or not units or any(is_number(cell) for cell in units):
        return
    known = [resolve_unit(unit) is not None for unit in units]
    stated = [cell.strip().startswith(("[", "(")) for cell in cells]
    if not all(
        k or s
        for k, s in zip(
            known, [s for s, b in zip(stated, bare, strict=True) if b and b != "-"], strict=True
        )
    ):
        return
    lines[header] = separator.join(
        f"{title.strip()} [{unit}]" if unit and unit != "-" else title
        for title, unit in zip(titles, bare, strict=True)
    )
    lines[below] = ""


# --- numbers -----------------------------------------------------------------------------------


def _plain_numbers(
    lines: list[str], header: int, separator: str, given: str | None, file: str, notes: list[str]
) -> str:
    """Take thousands separators out of the cells; return the decimal mark of what is left.

    ``1,234`` alone may be either: that is an error unless ``given`` says which.
    """
    body = [k for k in range(header + 1, len(lines)) if _filled(lines[k])]
    whole = "\n".join(lines[k] for k in body)
    alone = separator != ","
    suspicious = ("," in whole) if alone else ('"' in whole)
    spaced = any(c in whole for c in "'\u2019\u00a0\u202f") or re.search(r"\d \d{3}", whole, re.A)
    repeated = alone and re.search(r"\.\d{3}[.,]", whole, re.A) is not None
    if not suspicious and not spaced and not repeated:
        return given or "."
    decimal = given or _decimal_mark(lines, body, separator, whole, file)
    groups = rf"[{_SPACES}'\u2019" + ("," if decimal == "." else ".") + "]"
    if re.search(rf"\d{groups}\d{{3}}(?!\d)", whole, re.A) is None:
        return decimal
    pattern = re.compile(
        rf"[+-]?[1-9]\d{{0,2}}(?:{groups}\d{{3}})+(?:{re.escape(decimal)}\d+)?", re.A
    )
    if _rewrite(lines, body, separator, pattern, re.compile(groups)):
        notes.append("separators of thousands are taken out of its numbers")
    return decimal


def _decimal_mark(lines: list[str], body: list[int], separator: str, whole: str, file: str) -> str:
    """Return the decimal mark of the first number that shows one; a later other is an error there.

    Raises
    ------
    InputError
        Where a comma may part thousands or decimals and no other number tells.
    """
    unclear = None
    for cell in _cells(whole, separator):
        mark = _mark(_UNIT_BEHIND.sub("", cell))
        if mark is not None:
            return mark
        if unclear is None and "," in cell and _ONE_GROUP.fullmatch(cell):
            unclear = cell
    if unclear is None:
        return "."
    line = next((k + 1 for k in body if unclear in lines[k]), None)
    raise InputError(
        "a comma that may part thousands or decimals",
        file,
        line,
        found=repr(unclear),
        expected="--decimal , or --decimal .",
    )


def _cells(whole: str, separator: str) -> Iterator[str]:
    """Yield the cells, of a file with commas between them the quoted ones first."""
    if separator == ",":
        yield from (match[0].strip('" ') for match in _QUOTED_FIELD.finditer(whole))
        whole = _QUOTED_FIELD.sub("", whole)
    yield from (match[0].strip('" ') for match in re.finditer(rf"[^\n{separator}]+", whole))


def _mark(cell: str) -> str | None:
    """Return the decimal mark that a cell is evidence for, None when it is for none."""
    if ("," not in cell and "." not in cell) or _ONE_GROUP.fullmatch(cell):
        return None
    match = _PLAIN.fullmatch(cell)
    if match is not None:
        return match[1]
    for mark, pattern in _GROUPED.items():
        if pattern.fullmatch(cell):
            if mark in (",", r"\."):
                return "." if mark == "," else ","
            return "." if "." in cell else ","
    return None


def _rewrite(
    lines: list[str],
    body: list[int],
    separator: str,
    pattern: re.Pattern[str],
    groups: re.Pattern[str],
) -> bool:
    """Take the marks of groups out of every cell that is such a number; say whether any was."""
    changed = False

    def plainer(cell: str) -> str:
        nonlocal changed
        if pattern.fullmatch(cell.strip('" ')):
            changed = True
            return groups.sub("", cell.strip('" '))
        return cell

    for k in body:
        if separator == ",":
            lines[k] = _QUOTED_FIELD.sub(lambda match: plainer(match[0]), lines[k])
        elif '"' not in lines[k] or separator not in "".join(_QUOTED_FIELD.findall(lines[k])):
            lines[k] = separator.join(plainer(cell) for cell in lines[k].split(separator))
    return changed


def _without_units(column: TableColumn) -> TableColumn:
    """Take a unit that stands behind every number of a column, as in ``45 %``, into its header."""
    cells = column.cells
    if not isinstance(cells, tuple) or column.unit_text:
        return column
    filled = [cell for cell in cells if cell]
    first = _NUMBER_AND_UNIT.fullmatch(filled[0]) if filled else None
    if first is None or resolve_unit(first[2]) is None or split_header(column.header).unit:
        return column
    unit = first[2]
    if not all(cell.endswith(unit) for cell in filled):
        return column
    shorter = tuple(cell.removesuffix(unit).rstrip() if cell else cell for cell in cells)
    return replace(column, cells=shorter, unit_text=str(resolve_unit(unit)))
