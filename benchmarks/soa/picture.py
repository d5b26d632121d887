#!/usr/bin/env python3
"""Draws which bytes two steps over particles use and which sectors they move, structs above arrays, as SVG.

    python3 benchmarks/soa/picture.py [soa.json] > docs/soa.svg

With a result of kiln-bench-soa the measured rates of useful bytes stand beside the counts. Python's own libraries alone.
"""
import json
import sys

SECTOR, SCALE, SECTORS = 32, 5, 4
USED, BESIDE = "#8fbfe8", "#f2b8a0"
# A step: title, bytes of a struct, fields (name, bytes, read, written), name of the bench's case.
STEPS = [
    ("x += dt v", [("x", 12, True, True), ("v", 12, True, False), ("m", 4, False, False)], "drift"),
    ("y = 2 f0 + f1", [("f0", 4, True, False), ("f1", 4, True, False), ("f2 ... f7", 24, False, False)], "two_of_eight"),
]
OUTPUT = {"drift": 0, "two_of_eight": 4}  # bytes of a result of its own, for each particle


def moved(fields, which):
    """Bytes of the sectors in which packed structs have such a field, for each struct."""
    size, structs, touched, at = sum(f[1] for f in fields), 32, set(), 0
    for field in fields:
        if field[which]:
            for s in range(structs):
                touched.update(range((s * size + at) // SECTOR, (s * size + at + field[1] - 1) // SECTOR + 1))
        at += field[1]
    return len(touched) * SECTOR / structs


def ratios(fields, extra):
    used = sum(f[1] * (f[2] + f[3]) for f in fields) + extra
    return (moved(fields, 2) + moved(fields, 3) + extra) / used


def rates(path):
    """GB/s of useful bytes at the largest size of each case: arrays, structs, copy."""
    found = {}
    if path:
        with open(path, encoding="utf-8") as file:
            for row in json.load(file)["benchmarks"]:
                parts = row["name"].split("/")
                if "structs_us" in row:
                    found[parts[1]] = [row["bytes"] / row[k] * 1e-3 for k in ("kiln_us", "structs_us", "copy_us")]
    return found


def main():
    measured = rates(sys.argv[1] if len(sys.argv) > 1 else "")
    out, y, left, width = [], 30, 90, SECTOR * SECTORS * SCALE
    def text(x, y, s, **more):
        attributes = " ".join(k.replace("_", "-") + f'="{v}"' for k, v in more.items())
        out.append(f'<text x="{x}" y="{y}" {attributes}>{s}</text>')
    def box(x, y, w, fill):
        out.append(f'<rect x="{x}" y="{y}" width="{w}" height="26" fill="{fill}" stroke="#444444" stroke-width="0.6"/>')
    def sectors(y):
        for s in range(SECTORS + 1):
            x = left + s * SECTOR * SCALE
            out.append(f'<line x1="{x}" y1="{y - 5}" x2="{x}" y2="{y + 31}" stroke="#000000" stroke-width="1.6"/>')
    for title, fields, case in STEPS:
        text(left, y, title, font_weight="bold")
        y += 14
        text(8, y + 17, "structs")
        at, end = 0, SECTORS * SECTOR
        while at < end:
            for name, size, read, written in fields:
                w = min(size, end - at)
                if w > 0:
                    box(left + at * SCALE, y, w * SCALE, USED if read or written else BESIDE)
                    if w == size and size >= 4:
                        text(left + (at + size / 2) * SCALE, y + 17, name, text_anchor="middle", font_size="10")
                at += size
        sectors(y)
        y += 42
        text(8, y + 17, "arrays")
        components = [f for f in fields if f[2] or f[3]]
        for number, (name, size, *_) in enumerate(components):
            share = SECTORS // len(components)
            for i in range(share * SECTOR // 4):
                box(left + (number * share * SECTOR + 4 * i) * SCALE, y, 4 * SCALE, USED)
            text(left + (number * share + share / 2) * SECTOR * SCALE, y + 17,
                 f"{name}, neighbour after neighbour", text_anchor="middle", font_size="10")
        sectors(y)
        y += 50
        line = f"bytes moved for each byte used: structs {ratios(fields, OUTPUT[case]):.2f}, arrays 1.00"
        if case in measured:
            arrays, structs, copy = measured[case]
            line += f"; measured: structs {structs:.0f}, arrays {arrays:.0f}, a copy {copy:.0f} GB/s of useful bytes"
        text(left, y, line)
        y += 40
    text(left, y - 8, "Between two strokes: a sector of 32 bytes, the least that moves. Blue: used; pale: moved beside it.",
         font_size="11")
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 30}" height="{y + 8}" font-family="sans-serif" '
          f'font-size="13"><rect width="100%" height="100%" fill="#ffffff"/>')
    print("\n".join(out) + "\n</svg>")


if __name__ == "__main__":
    main()
