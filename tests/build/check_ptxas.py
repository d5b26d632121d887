#!/usr/bin/env python3
"""Reads a build's log with ptxas -v in it. Fails on a warning, a spill or a remark about lost performance (C75xx)."""
import argparse
import re
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("log")
parser.add_argument("--most-registers", type=int, default=5, help="list so many kernels with the most registers")
args = parser.parse_args()

kernels = []  # [name, architecture, registers, stack, stores, loads]
complaints = []
text = open(args.log, encoding="utf-8", errors="replace").read()
for line in text.splitlines():
    if m := re.search(r"Compiling entry function '(\S+)' for '(\w+)'", line):
        kernels.append([m[1], m[2], 0, 0, 0, 0])
    elif m := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
        if kernels:
            stack, stores, loads = (int(x) for x in m.groups())
            kernels[-1][3] = max(kernels[-1][3], stack)
            kernels[-1][4] += stores
            kernels[-1][5] += loads
    elif m := re.search(r"Used (\d+) registers", line):
        if kernels:
            kernels[-1][2] = int(m[1])
    elif re.search(r"\(C75\d\d\)", line) or re.search(r"\bwarning\b", line, re.I):
        complaints.append(line.strip())

names = [k[0] for k in kernels]
filt = shutil.which("cu++filt") or shutil.which("c++filt")
if filt and names:
    plain = subprocess.run([filt], input="\n".join(names), capture_output=True, text=True).stdout.splitlines()
    if len(plain) == len(names):
        for kernel, name in zip(kernels, plain):
            kernel[0] = name


def short(name, width=160):
    return name if len(name) <= width else name[: width - 3] + "..."


for name, arch, registers, stack, stores, loads in kernels:
    if stores or loads:
        complaints.append(f"spill of {stores} bytes stored, {loads} loaded, {registers} registers, {arch}: {short(name)}")

for kernel in sorted(kernels, key=lambda k: -k[2])[: args.most_registers]:
    print(f"{kernel[2]:4} registers, {kernel[3]} bytes of stack, {kernel[1]}: {short(kernel[0], 100)}")
for complaint in complaints:
    print("complaint:", complaint)
print(f"{len(kernels)} kernels compiled, {len(complaints)} complaints")
sys.exit(1 if complaints else 0)
