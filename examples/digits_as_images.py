#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes data/digits.csv as PNG files, for docs/tutorial.md:  python3 digits_as_images.py FOLDER
FOLDER/labelled has a folder for each digit. FOLDER/new has the last 100 images without a label; FOLDER/answers.csv has
their labels. Needs nothing but Python 3."""

import csv
import pathlib
import struct
import sys
import zlib

NEW = 100


def png(pixels, side):
    """A grey image with 8 bits a pixel."""
    rows = b"".join(b"\0" + bytes(pixels[i : i + side]) for i in range(0, len(pixels), side))

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">2I5B", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def main(folder):
    table = pathlib.Path(__file__).resolve().parent.parent / "data" / "digits.csv"
    with open(table, newline="") as file:
        digits = list(csv.DictReader(file))
    answers = ["image,digit\n"]
    for number, digit in enumerate(digits):
        is_new = number >= len(digits) - NEW
        name = f"{number:04}.png"
        path = folder / "new" / name if is_new else folder / "labelled" / digit["label"] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png([15 * int(digit[f"p{i}"]) for i in range(64)], 8))  # 0 to 16 in the table
        if is_new:
            answers.append(f"{name},{digit['label']}\n")
    (folder / "answers.csv").write_text("".join(answers))
    print(f"{len(digits) - NEW} images in {folder}/labelled, {NEW} in {folder}/new")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: digits_as_images.py FOLDER")
    main(pathlib.Path(sys.argv[1]))
