#!/usr/bin/env python3
"""Ratio tables and geometric means, in Markdown, from the JSON files of the bench programs.

    python3 benchmarks/report.py RESULT.json [MORE.json ...]

Files are merged case by case: of a case that stands in several files, or several times in one, the median of each
figure is shown. Times of rows/peers_torch.py stand beside the cases of their names. A ratio above 1 says that Kiln took
less time than the peer; beside the copy of equal bytes it is Kiln's rate over the copy's. No libraries beyond Python's
own.
"""
import json
import math
import os
import re
import statistics
import sys

PEERS = {
    "lt": "cuBLASLt",
    "lt_first": "cuBLASLt's first algorithm",
    "lt_then_scale": "cuBLASLt + scaling kernel",
    "kiln_plain": "Kiln's plain GEMM",
    "kiln_whole_tiles": "Kiln, whole tiles",
    "rounded": "Kiln, extents rounded up",
    "bound": "faster plain GEMM + extra bytes",
    "copy": "copy of equal bytes",
    "empty": "empty kernel",
    "torch": "PyTorch",
    "torch_compile": "torch.compile",
    "structs": "Kiln over an array of structs",
    "floor": "floor",
}
# Groups are named by their first part, or by two where the first says little.
TWO_PARTS = ("fused", "decode", "particles", "attention")
# The shapes of a common table of peers: softmax and the norms of bf16.
COMMON = r"^(softmax|layer_norm|rms_norm|add_rms_norm)/bf16/(8192x4096|16384x1024|4096x16384|1024x131072)$"
# What is asked for: (group or None for all, peer, only cases whose name fits, the mean and the least ratio asked for).
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
    *((group, "copy", "", None, 0.90) for group in (
        "softmax", "rms_norm", "layer_norm", "add_rms_norm", "quantise_rows_int8", "quantise_rows_e4m3",
        "transform_axpy", "particles/structs_to_arrays", "particles/arrays_to_structs", "particles/drift",
        "particles/two_of_eight")),
    ("transposition", "copy", "", None, 0.85),
    (None, "torch_compile", COMMON, 1.25, None),
]
# What is asked for without a peer: (only cases whose name fits, their figure, its heading, the least, the most).
FIGURES = [
    (r"^sm80/b?f16/4096$", "alone_Tops", "T/s alone", 450, None),
    (r"^sm80/int8/4096$", "alone_Tops", "T/s alone", 650, None),
    (r"^b?f16/square/4096$", "Tops", "T/s", 550, None),
    (r"^host/run/", "kiln_us", "µs of the host", None, 5),
    (r"^decode/(rms_norm|layer_norm|add_rms_norm|rms_norm_quantise_\w+|rotary_append)/", "over_empty_us",
     "µs over an empty kernel", None, 2.5),
]


def name_of(row):
    return re.sub(r"/iterations:\d+|/manual_time|/repeats:\d+", "", row["name"])


def group_of(name):
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] in TWO_PARTS else parts[0]


def read(paths):
    """Contexts of the files, rows of each case, those of peers that ran by themselves, and the cases that failed."""
    contexts, cases, others, failed = [], {}, {}, {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        contexts.append({"file": os.path.basename(path), **data.get("context", {})})
        for row in data.get("benchmarks", []):
            if row.get("run_type") == "aggregate":
                continue
            name = name_of(row)
            if row.get("error_occurred"):
                failed[name] = row.get("error_message", "failed")
            else:
                (others if row.get("run_type") == "peer" else cases).setdefault(name, []).append(row)
    return contexts, cases, others, failed


def merged(rows):
    """The median of each number, the first row's texts."""
    result = dict(rows[0])
    for key, value in rows[0].items():
        if isinstance(value, (int, float)):
            result[key] = statistics.median(row.get(key, value) for row in rows)
    return result


def with_peers(row, other):
    """The row with the times of a program of its own beside them."""
    for who in ("torch", "torch_compile"):
        if who + "_us" in other:
            row[who + "_us"] = other[who + "_us"]
            row["vs_" + who] = other[who + "_us"] / row["kiln_us"]
    if "torch_copy_us" in other and "copy_us" in row:
        row["clocks"] = other["torch_copy_us"] / row["copy_us"]
    return row


def beside_a_fast_copy(rows):
    """Has each case beside the fastest copy of about as many bytes (within a tenth) of all cases: a copy whose length is
    no multiple of 4,096 bytes may take half as long again, and tells nothing of the case beside it."""
    copies = [(row["bytes"], row["copy_us"] / row["bytes"]) for row in rows if "bytes" in row and "copy_us" in row]
    for row in rows:
        if "bytes" in row and "copy_us" in row:
            least = min(each for bytes, each in copies if abs(bytes / row["bytes"] - 1) < 0.1)
            row["copy_us"] = least * row["bytes"]
            row["vs_copy"] = row["copy_us"] / row["kiln_us"]


def geometric_mean(ratios):
    return math.exp(sum(math.log(r) for r in ratios) / len(ratios))


def peers_of(rows):
    found = []
    for row in rows.values():
        found += [key[3:] for key in row if key.startswith("vs_") and key[3:] not in found]
    return found


# Further columns, of the groups whose cases have them: counter, heading, format.
COLUMNS = (
    ("Tops", "T/s", "{:.0f}"),
    ("alone_Tops", "T/s alone", "{:.0f}"),
    ("GBps", "GB/s", "{:.0f}"),
    ("over_empty_us", "over empty µs", "{:.2f}"),
    ("moved_over_used", "bytes moved / used", "{:.2f}"),
    ("structs_moved_over_used", "the same, structs", "{:.2f}"),
    ("planning_us", "planning µs", "{:.1f}"),
    ("clocks", "PyTorch's copy / ours", "{:.3f}"),
)

def print_table(header, lines):
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for line in lines:
        print("| " + " | ".join(line) + " |")
    print()


def print_group(group, rows):
    peers = peers_of(rows)
    columns = [c for c in COLUMNS if any(row.get(c[0]) for row in rows.values())]
    header = ["case", "Kiln µs"] + [heading for _, heading, _ in columns]
    for peer in peers:
        header += [PEERS.get(peer, peer) + " µs", "ratio"]
    header += ["MHz", "°C", "W", "kernel"]
    lines = []
    for name, row in rows.items():
        line = [name[len(group) + 1:], f"{row['kiln_us']:.2f}"]
        line += [form.format(row[key]) if key in row else "" for key, _, form in columns]
        for peer in peers:
            known = "vs_" + peer in row
            line += [f"{row[peer + '_us']:.2f}", f"{row['vs_' + peer]:.3f}"] if known else ["", ""]
        line += [f"{row[key]:.0f}" if row.get(key) else "" for key in ("sm_mhz", "celsius", "watts")]
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
        cases = {name: row for key, rows in groups.items() if group in (None, key) for name, row in rows.items()}
        ratios = [row["vs_" + peer] for name, row in cases.items() if "vs_" + peer in row and re.search(pattern, name)]
        if not ratios:
            continue
        for what, seen, asked in (("mean", geometric_mean(ratios), mean), ("least", min(ratios), least)):
            if asked is not None:
                lines.append([group or "softmax, norms", PEERS[peer], str(len(ratios)), what, f"{seen:.3f}",
                              f"{asked:.3f}", "met" if seen >= asked else "**missed**"])
    for pattern, figure, heading, least, most in FIGURES:
        for group, rows in groups.items():
            seen = [row[figure] for name, row in rows.items() if re.search(pattern, name) and figure in row]
            if seen:
                met = min(seen) >= least if most is None else max(seen) <= most
                lines.append([group, heading, str(len(seen)), "least" if most is None else "most",
                              f"{min(seen) if most is None else max(seen):.2f}", f"{least if most is None else most:.2f}",
                              "met" if met else "**missed**"])
    if lines:
        print("## Goals\n")
        print_table(["group", "peer or figure", "cases", "which", "seen", "asked", ""], lines)


def main(paths):
    contexts, cases, others, failed = read(paths)
    print("# Results\n")
    for context in contexts:
        keys = ("file", "date", "gpu", "driver", "cuda_runtime", "cublaslt", "torch", "kiln_commit", "rounds", "round_ms")
        print("- " + ", ".join(f"{key} {context[key]}" for key in keys if key in context))
    print("\nRatio: the peer's time over Kiln's; above 1 Kiln is faster. PyTorch and torch.compile ran in a program of their own. Clock,\n"
          "temperature and power were read in the run, where they were; short neighbours share a reading. T/s: 10^12 operations a second,\n"
          "a multiply-add being two. The copy is the fastest of about as many bytes (within a tenth) in these files.\n")
    groups = {}
    for name, rows in cases.items():
        row = with_peers(merged(rows), merged(others[name]) if name in others else {})
        groups.setdefault(group_of(name), {})[name] = row
    beside_a_fast_copy([row for rows in groups.values() for row in rows.values()])
    if groups:
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
