"""CSV, Excel and Parquet tables; each function turns bytes into columns and never guesses."""

import csv
import re
from datetime import datetime, timedelta
from functools import cache
from io import BytesIO
from typing import Any, Final
from zipfile import BadZipFile, ZipFile

import numpy as np

from engiagent.errors import InputError
from engiagent.io.tabular import TableColumn, check_size, header_unit
from engiagent.units.headers import split_header
from engiagent.units.words import resolve_unit

_SEPARATORS: Final = (";", "\t", ",")
_MAX_FIELD: Final = 10_000
MAX_UNPACKED: Final = 500_000_000
# A number that stands alone in its field, with the decimal mark to be told.
_FIELD: Final = (
    r'(?:^|[;\t])[ ]?"?[+-]?[0-9]{1,20}%s[0-9]{1,40}(?:[eE][+-]?[0-9]{1,4})?"?[ ]?(?=$|[;\t])'
)
_DECIMAL_COMMA: Final = re.compile(_FIELD % ",", re.M)
_DECIMAL_POINT: Final = re.compile(_FIELD % r"\.", re.M)
# Points as German tables group thousands, and the dates by which such a table is known.
_GROUPED: Final = re.compile(r'[;\t]?[ ]?"?[+-]?[1-9][0-9]{0,2}\.[0-9]{3}"?[ ]?')
_GERMAN_DATE: Final = re.compile(r'(?:^|[;\t])[ ]?"?\d\d?\.\d\d?\.\d{4}\b', re.M)


def read_csv(data: bytes, file: str, decimal: str | None = None) -> list[TableColumn]:
    """Return the columns of a CSV file; blank lines and lines that begin with ``#`` are skipped."""
    lines = _lines(data, file)
    filled = _filled(lines)
    if not filled:
        raise InputError("the file is empty", file)
    symbol = _separator(lines[filled[0] :])
    quoted = any('"' in line for line in lines)
    head, title_line = filled[0] + 1, lines[filled[0]]
    titles = _quoted(title_line, symbol, file, head) if quoted else title_line.split(symbol)
    header = [cell.strip() for cell in titles]
    width = len(header)
    check_size(file, len(filled) - 1, width)
    _check_header(header, head, file)
    if quoted:
        rows = [_quoted(lines[k], symbol, file, k + 1) for k in filled[1:]]
        counts = [len(row) for row in rows]
    else:
        counts = [lines[k].count(symbol) + 1 for k in filled[1:]]
    if any(count != width for count in counts):
        row = next(k for k, count in enumerate(counts) if count != width)
        line, found, expected = filled[row + 1] + 1, f"{counts[row]}", f"{width} as in the header"
        raise InputError("a row with a wrong number of fields", file, line, None, found, expected)
    if quoted:
        columns = [[row[k] for row in rows] for k in range(width)]
    else:  # split all at once: several times faster than one by one
        flat = symbol.join(lines[k] for k in filled[1:]).split(symbol) if counts else []
        columns = [flat[k::width] for k in range(width)]
    point = decimal or _decimal(lines, symbol, file)

    @cache
    def again() -> tuple[list[str], list[int]]:
        # Split anew when a place is asked for: stored, the lines would take more than all cells.
        whole = _lines(data, file)
        return whole, _filled(whole)[1:]

    def place(row: int, column: int) -> tuple[int, int]:
        whole, numbers = again()
        return numbers[row] + 1, _field_start(whole[numbers[row]], column, symbol)

    made = []
    for k, (title, cells) in enumerate(zip(header, columns, strict=True), 1):
        name, unit = header_unit(title)
        stripped = tuple(map(str.strip, cells))
        made.append(TableColumn(file, title, name, unit, k, stripped, point, place))
    return made


def _filled(lines: list[str]) -> list[int]:
    """Return the numbers of the lines that hold something."""
    return [k for k, line in enumerate(lines) if line and not line.isspace()]


def _lines(data: bytes, file: str) -> list[str]:
    """Return the lines of a text, comments blanked, so that line numbers stay true."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("the file is UTF-16", file, 1, expected="text in UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"the byte 0x{data[error.start]:02x}"
        wanted = "text in UTF-8, in Excel: save as “CSV UTF-8”"
        raise InputError("no text in UTF-8", file, line, found=found, expected=wanted) from None
    if "\0" in text:
        raise InputError("a NUL character", file, text.count("\n", 0, text.index("\0")) + 1)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if "#" in text:
        lines = ["" if line.lstrip().startswith("#") else line for line in lines]
    return lines


def _separator(lines: list[str]) -> str:
    sample = [re.sub(r'"[^"\n]{0,10000}"', "", line) for line in lines[:20] if line.strip()]
    for symbol in _SEPARATORS:
        if sample[0].count(symbol) and all(symbol in line for line in sample):
            return symbol
    return next((symbol for symbol in _SEPARATORS if symbol in sample[0]), ",")


def _quoted(line: str, symbol: str, file: str, number: int) -> list[str]:
    if len(line) > _MAX_FIELD * 100:
        raise InputError("an overlong line", file, number)
    try:
        return next(csv.reader([line], delimiter=symbol, strict=True, skipinitialspace=True))
    except csv.Error as error:
        raise InputError(f"a broken quotation: {error}", file, number) from None


def _check_header(header: list[str], line: int, file: str) -> None:
    for k, title in enumerate(header):
        if not title:
            raise InputError(f"column {k + 1} has no header", file, line)
        if len(title) > 300:
            raise InputError("a header of more than 300 characters", file, line)
        if header.index(title) != k:
            raise InputError("a header stands twice", file, line, found=repr(title))
    if all(re.fullmatch(r"[+-]?[0-9]+(?:[.,][0-9]+)?", title) for title in header):
        what = "the first line holds numbers"
        raise InputError(what, file, line, None, header[0], "a header")


def _decimal(lines: list[str], symbol: str, file: str) -> str:
    if symbol == ",":
        return "."
    text = "\n".join(lines)
    comma, point = _DECIMAL_COMMA.search(text), _DECIMAL_POINT.search(text)
    grouped = (_GROUPED.fullmatch(found[0]) for found in _DECIMAL_POINT.finditer(text))
    if point is not None and comma is None and _GERMAN_DATE.search(text) and all(grouped):
        line, found = text.count("\n", 0, point.start() + 1) + 1, point[0].strip(' ;\t"')
        what = "a point before three digits in every number, beside German dates"
        expected = f"{found.replace('.', '')} if it groups thousands, else {found}0"
        raise InputError(what, file, line, None, found, expected)
    if comma is None or point is None:
        return "." if comma is None else ","
    line = text.count("\n", 0, point.start() + 1) + 1
    found = " and ".join(match[0].strip(' ;\t"') for match in (comma, point))
    what = "decimal commas and decimal points in one file"
    raise InputError(what, file, line, None, found, "one of the two throughout")


def _field_start(line: str, column: int, symbol: str) -> int:
    """Return where a field begins in its line, from 1."""
    inside, field = False, 0
    for k, char in enumerate(line):
        if field == column:
            return k + 1
        if char == '"':
            inside = not inside
        elif char == symbol and not inside:
            field += 1
    return len(line) + 1


def read_parquet(data: bytes, file: str) -> list[TableColumn]:
    """Return the columns of a Parquet file; units come from the fields' metadata or the headers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        source = pq.ParquetFile(pa.BufferReader(data))
        meta = source.metadata
        check_size(file, meta.num_rows, meta.num_columns)
        sizes = [meta.row_group(k).total_byte_size for k in range(meta.num_row_groups)]
        if sum(sizes) > 2_000_000_000:
            raise InputError("a table too large to unpack", file, found=f"{sum(sizes)} bytes")
        table = source.read()
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        reason = str(error).split("\n")[0][:200]
        raise InputError(f"no readable Parquet file: {reason}", file) from None
    return [
        _arrow_column(file, name, k + 1, table.field(k), table.column(k))
        for k, name in enumerate(table.column_names)
    ]


def _arrow_column(file: str, title: str, position: int, field: Any, column: Any) -> TableColumn:
    import pyarrow as pa

    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if column.null_count and not pa.types.is_floating(kind):
        row = next(k for k, item in enumerate(column) if not item.is_valid)
        raise InputError(f"column {title!r}, row {row + 1}: a value is missing", file)
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        cells: Any = column.cast(pa.float64()).to_numpy(zero_copy_only=False).astype(np.float64)
    elif pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        cells = tuple(
            item.isoformat(sep=" ") if hasattr(item, "hour") else item.isoformat()
            for item in column.to_pandas().tolist()
        )
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind):
        cells = tuple(str(item).strip() for item in column.to_pylist())
    else:
        raise InputError(f"column {title!r} holds {field.type}", file, expected="numbers or text")
    meta = {k.decode("utf-8", "replace").lower(): v for k, v in (field.metadata or {}).items()}
    unit = (meta.get("units") or meta.get("unit") or b"").decode("utf-8", "replace")
    return typed_column(file, title, position, unit, cells)


def read_excel(data: bytes, file: str) -> list[TableColumn]:
    """Return the columns of the one sheet of an Excel file; the first row has the headers."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        what, expected = "an Excel file needs openpyxl", "pip install 'engiagent[excel]', or CSV"
        raise InputError(what, file, expected=expected) from None
    try:
        with ZipFile(BytesIO(data)) as packed:
            unpacked = sum(entry.file_size for entry in packed.infolist())
        if unpacked > MAX_UNPACKED:
            raise InputError("a table too large to unpack", file, found=f"{unpacked} bytes")
        book = openpyxl.load_workbook(BytesIO(data), read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError, OSError) as error:
        raise InputError(f"no readable Excel file: {str(error)[:200]}", file) from None
    sheets = [list(sheet.iter_rows(values_only=True)) for sheet in book.worksheets]
    filled = [sheet for sheet in sheets if any(any(c is not None for c in row) for row in sheet)]
    if len(filled) != 1:
        names = ", ".join(book.sheetnames)
        raise InputError("the table has to be the only sheet", file, found=names)
    rows = filled[0]
    while rows and all(cell is None for cell in rows[-1]):
        rows.pop()
    width = max(k + 1 for row in rows for k, cell in enumerate(row) if cell is not None)
    check_size(file, len(rows), width)
    header = ["" if c is None else str(c).strip() for c in rows[0][:width]]
    _check_header(header, 1, file)
    return [
        _excel_column(file, title, k, [row[k] if k < len(row) else None for row in rows[1:]])
        for k, title in enumerate(header)
    ]


def _excel_column(file: str, title: str, position: int, cells: list[Any]) -> TableColumn:
    def place(row: int, column: int) -> tuple[int | None, int | None]:
        return row + 2, column + 1

    name, unit = header_unit(title)
    about = (file, title, name, unit, position + 1)
    if cells and all(isinstance(c, int | float) and not isinstance(c, bool) for c in cells):
        return TableColumn(*about, np.array(cells, dtype=np.float64), _place=place)
    return TableColumn(*about, tuple(map(_excel_text, cells)), _place=place)


def _excel_text(cell: Any) -> str:
    """Return a cell as text; stamps count in days there, so that they are off by microseconds."""
    if isinstance(cell, datetime):
        return (cell + timedelta(milliseconds=500)).replace(microsecond=0).isoformat(sep=" ")
    if isinstance(cell, float):
        return f"{cell:.17g}"
    return "" if cell is None else str(cell).strip()


def typed_column(file: str, title: str, position: int, unit: str, cells: Any) -> TableColumn:
    """Return a column of a binary file, whose unit may stand beside its header."""
    if not unit:
        name, unit = header_unit(title)
    else:
        name = split_header(title).name
        known = resolve_unit(unit)
        unit = str(known) if known is not None else unit
    return TableColumn(file, title, name, unit, position, cells)
