"""Lists of students: names that a person types, and CSV files as spreadsheets write them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from .accounts import PERMISSIONS, BadAccounts
from .class_actions import Student

SUFFIXES = (".csv", ".txt")
COLUMNS = ("name", "group", "budget", "key", "permissions")


def read_students(given: Sequence[str], *, group: str | None = None, budget: int | None = None) -> list[Student]:
    """The students of names and files; a file has the columns name[,group][,budget][,key][,permissions], or only names.

    `group` and `budget` are those of students for whom a file has no others.
    """
    students: list[Student] = []
    for text in given:
        if text.lower().endswith(SUFFIXES):
            students += _read_file(Path(text), group, budget)
        else:
            students.append(Student(text.strip(), group, budget))
    return students


def _read_file(path: Path, group: str | None, budget: int | None) -> list[Student]:
    lines = [line for line in _read_text(path).splitlines() if line.strip()]
    if not lines:
        raise BadAccounts(f"{path} is empty. It needs one name on each line, or a table with the heading `name`.")
    # Spreadsheets write semicolons where a comma is the decimal point.
    delimiter = ";" if lines[0].count(";") > lines[0].count(",") else ","
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter)]
    heading = [cell.lower() for cell in rows[0]]
    if "name" not in heading:
        if any(any(row[1:]) for row in rows):
            raise BadAccounts(f"{path} is a table without the heading `name`. Its columns can be {', '.join(COLUMNS)}.")
        return [Student(row[0], group, budget) for row in rows]
    found = []
    for number, row in enumerate(rows[1:], 2):
        cells = dict(zip(heading, row, strict=False))
        found.append(_student(cells, f"{path}, line {number}", group, budget))
    if not found:
        raise BadAccounts(f"{path} has no rows under its heading.")
    return found


def _read_text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadAccounts(f"{path} cannot be read ({error.strerror}).") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")  # As older spreadsheets write it.


def _student(cells: dict[str, str], place: str, group: str | None, budget: int | None) -> Student:
    given, permissions = cells.get("budget", ""), tuple(cells.get("permissions", "").replace(";", " ").split())
    if given and not (given.isascii() and given.isdecimal()):
        raise BadAccounts(f"{place}: the budget {given!r} is not a whole number of credits.")
    if unknown := next((one for one in permissions if one not in PERMISSIONS), None):
        raise BadAccounts(f"{place}: permissions are {', '.join(PERMISSIONS)}, not {unknown!r}.")
    return Student(
        cells.get("name", ""),
        cells.get("group") or group,
        int(given) if given else budget,
        cells.get("key") or None,
        permissions or None,
    )
