"""Reads a QR code from its SVG: a second opinion on what was printed, without error correction."""

from __future__ import annotations

import re
from collections.abc import Iterator

Matrix = list[list[bool]]

BLOCKS = {5: (43, 43), 6: (27,) * 4, 7: (31,) * 4, 8: (38, 38, 39, 39), 9: (36, 36, 36, 37, 37)}
"""The data codewords of each block with error correction M, by version."""
ALIGNED = {5: (6, 30), 6: (6, 34), 7: (6, 22, 38), 8: (6, 24, 42), 9: (6, 26, 46)}
MASKS = (
    lambda row, column: (row + column) % 2 == 0,
    lambda row, column: row % 2 == 0,
    lambda row, column: column % 3 == 0,
    lambda row, column: (row + column) % 3 == 0,
    lambda row, column: (row // 2 + column // 3) % 2 == 0,
    lambda row, column: row * column % 2 + row * column % 3 == 0,
    lambda row, column: (row * column % 2 + row * column % 3) % 2 == 0,
    lambda row, column: ((row + column) % 2 + row * column % 3) % 2 == 0,
)


def read_qr_code(svg: str) -> str:
    """The text of a QR code that segno has drawn as SVG, of version 5 to 9 with error correction M."""
    matrix = _matrix(svg)
    version = (len(matrix) - 17) // 4
    bits = "".join("1" if bit else "0" for bit in _bits(matrix, version))
    codewords = [int(bits[start : start + 8], 2) for start in range(0, len(bits) - 7, 8)]
    data = "".join(f"{word:08b}" for word in _deinterleave(codewords, BLOCKS[version]))
    assert data[:4] == "0100", "bytes"
    length = int(data[4:12], 2)
    return bytes(int(data[start : start + 8], 2) for start in range(12, 12 + 8 * length, 8)).decode()


def _matrix(svg: str) -> Matrix:
    """Its modules without the quiet zone; segno draws each row of dark modules as horizontal strokes."""
    found = re.search(r'viewBox="0 0 (\d+) (\d+)".* d="([^"]+)"', svg)
    assert found is not None
    size, path = int(found[1]) - 8, found[3]
    matrix = [[False] * size for _ in range(size)]
    x = y = 0.0
    for letter, numbers in re.findall(r"([Mmh])([-\d. ]+)", path):
        values = [float(number) for number in numbers.split()]
        if letter == "h":
            for column in range(int(x), int(x + values[0])):
                matrix[int(y) - 4][column - 4] = True
            x += values[0]
        else:
            x, y = (values[0], values[1]) if letter == "M" else (x + values[0], y + values[1])
    return matrix


def _bits(matrix: Matrix, version: int) -> Iterator[bool]:
    size = len(matrix)
    mask = sum(matrix[8][column] << (4 - column) for column in range(2, 5)) ^ 0b101
    # The format's own mask, 10101…, is over the two bits of the level, 00, and the three of the mask.
    assert (matrix[8][0], matrix[8][1]) == (True, False), "error correction M"
    column, upwards = size - 1, True
    while column > 0:
        if column == 6:
            column -= 1
        for row in range(size - 1, -1, -1) if upwards else range(size):
            for place in (column, column - 1):
                if not _is_function(row, place, size, version):
                    yield matrix[row][place] ^ MASKS[mask](row, place)
        column, upwards = column - 2, not upwards


def _is_function(row: int, column: int, size: int, version: int) -> bool:
    in_corner = (row < 9 and column < 9) or (row < 9 and column >= size - 8) or (row >= size - 8 and column < 9)
    in_version = version >= 7 and ((row < 6 and column >= size - 11) or (column < 6 and row >= size - 11))
    centres = ALIGNED[version]
    corners = {(6, 6), (6, centres[-1]), (centres[-1], 6)}
    in_alignment = any(
        abs(row - down) < 3 and abs(column - across) < 3
        for down in centres
        for across in centres
        if (down, across) not in corners
    )
    return in_corner or in_version or in_alignment or 6 in (row, column)


def _deinterleave(codewords: list[int], lengths: tuple[int, ...]) -> list[int]:
    order = [
        (block, place)
        for place in range(max(lengths))
        for block, length in enumerate(lengths)
        if place < length
    ]  # fmt: skip
    blocks: list[dict[int, int]] = [{} for _ in lengths]
    for (block, place), word in zip(order, codewords, strict=False):
        blocks[block][place] = word
    return [block[place] for block, length in zip(blocks, lengths, strict=True) for place in range(length)]
