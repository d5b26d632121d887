#!/usr/bin/env python3
"""Ratio tables and geometric means, in Markdown, from the JSON files of kiln-bench-gemm.

    python3 benchmarks/report.py RESULT.json [MORE.json ...]

Files are merged case by case: of a case that stands in several files, or several times in one, the median of each figure
is shown. A ratio above 1 says that Kiln took less time than the peer. No libraries beyond Python's own.
"""
import json
import math
import re
import statistics
import sys

PEERS = {
    "lt": "cuBLASLt",
    "lt_then_scale": "cuBLASLt + scaling kernel",
    "kiln_plain": "Kiln's plain GEMM",
    "kiln_whole_tiles": "Kiln, whole tiles",
    "rounded": "Kiln, extents rounded up",
    "bound": "faster plain GEMM + extra bytes",
}
# What each group is held to: (group, peer, only cases whose name fits, the mean and the least ratio asked for).
GOALS = [
    ("bf16", "lt", "", 1.00, 0.93),
    ("f16", "lt", "", 1.00, 0.93),
    ("fp8_promoted", "lt", "", 0.97, None),
    ("fp8_fast", "lt", "", 0.97, None),
    ("int8", "lt", r"/m(2048|4096|8192)$|square/", 1.7, None),
    ("int8", "lt_then_scale", r"/m(2048|4096|8192)$|square/", 1.8, None),
    ("fused/bias_gelu_tanh_residual", "bound", r"square/4096$|down/m4096$", None, 1 / 1.05),
    ("fused/bias_gelu_erf_residual", "bound", r"square/4096$|down/m4096$", None, 1 / 1.08),
    ("fused/swiglu", "lt", r"/m4096$", None, 1 / 0.97),
    ("ragged", "rounded", r"^(?!.*unaligned)", None, 1 / 1.10),
]


def name_of(row):
    return re.sub(r"/iterations:\d+|/manual_time|/repeats:\d+", "", row["name"])


def group_of(name):
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] == "fused" else parts[0]


def read(paths):
    """Contexts of the files, rows of each case, and the cases that failed."""
    contexts, cases, failed = [], {}, {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        contexts.append(data.get("context", {}))
        for row in data.get("benchmarks", []):
            if row.get("run_type") == "aggregate":
                continue
            name = name_of(row)
            if row.get("error_occurred"):
                failed[name] = row.get("error_message", "failed")
            else:
                cases.setdefault(name, []).append(row)
    return contexts, cases, failed


def merged(rows):
    """The median of each number, the first row's texts."""
    result = dict(rows[0])
    for key, value in rows[0].items():
        if isinstance(value, (int, float)):
            result[key] = statistics.median(row.get(key, value) for row in rows)
    return result


def geometric_mean(ratios):
    return math.exp(sum(math.log(r) for r in ratios) / len(ratios))


def peers_of(rows):
    found = []
    for row in rows.values():
        found += [key[3:] for key in row if key.startswith("vs_") and key[3:] not in found]
    return found


def print_table(header, lines):
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for line in lines:
        print("| " + " | ".join(line) + " |")
    print()


def print_group(group, rows):
    peers = peers_of(rows)
    header = ["case", "Kiln µs", "T/s"]
    for peer in peers:
        header += [PEERS.get(peer, peer) + " µs", "ratio"]
    if any("planning_us" in row for row in rows.values()):
        header.append("planning µs")
    header += ["MHz", "°C", "W", "kernel"]
    lines = []
    for name, row in rows.items():
        rate = row.get("Tops", 0)
        line = [name[len(group) + 1:], f"{row['kiln_us']:.2f}", f"{rate:.0f}" if rate else ""]
        for peer in peers:
            known = "vs_" + peer in row
            line += [f"{row[peer + '_us']:.2f}", f"{row['vs_' + peer]:.3f}"] if known else ["", ""]
        if "planning µs" in header:
            line.append(f"{row.get('planning_us', 0):.1f}")
        line += [f"{row.get('sm_mhz', 0):.0f}", f"{row.get('celsius', 0):.0f}", f"{row.get('watts', 0):.0f}"]
        line.append(row.get("label", ""))
        lines.append(line)
    print(f"## {group}\n")
    print_table(header, lines)


def summary(groups):
    lines = []
    for group, rows in groups.items():
        for peer in peers_of(rows):
            ratios = {name: row["vs_" + peer] for name, row in rows.items() if "vs_" + peer in row}
            least = min(ratios, key=ratios.get)
            lines.append([group, PEERS.get(peer, peer), str(len(ratios)), f"{geometric_mean(list(ratios.values())):.3f}",
                          f"{ratios[least]:.3f} ({least[len(group) + 1:]})"])
    print("## Geometric means\n")
    print_table(["group", "peer", "cases", "mean ratio", "least"], lines)


def goals(groups):
    lines = []
    for group, peer, pattern, mean, least in GOALS:
        ratios = [row["vs_" + peer] for name, row in groups.get(group, {}).items()
                  if "vs_" + peer in row and re.search(pattern, name)]
        if not ratios:
            continue
        for what, seen, asked in (("mean", geometric_mean(ratios), mean), ("least", min(ratios), least)):
            if asked is not None:
                lines.append([group, PEERS[peer], str(len(ratios)), what, f"{seen:.3f}", f"{asked:.3f}",
                              "met" if seen >= asked else "**missed**"])
    if lines:
        print("## Goals\n")
        print_table(["group", "peer", "cases", "ratio", "seen", "asked", ""], lines)


def main(paths):
    contexts, cases, failed = read(paths)
    for context in contexts:
        keys = ("date", "gpu", "driver", "cuda_runtime", "cublaslt", "kiln_commit", "rounds", "round_ms")
        print("- " + ", ".join(f"{key} {context[key]}" for key in keys if key in context))
    print("\nRatio: the peer's time over Kiln's; above 1 Kiln is faster. Clock, temperature and power were read in the run.\n")
    groups = {}
    for name, rows in cases.items():
        groups.setdefault(group_of(name), {})[name] = merged(rows)
    summary(groups)
    goals(groups)
    for group, rows in groups.items():
        print_group(group, rows)
    if failed:
        print("## Failed\n")
        print_table(["case", "why"], [[name, why] for name, why in failed.items()])
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
