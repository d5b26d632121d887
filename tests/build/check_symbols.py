#!/usr/bin/env python3
"""Fails if an object file defines a strong global symbol that is not allowed by name."""
import argparse
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--nm", default="nm")
parser.add_argument("--allow", action="append", default=[], help="a function that the object defines on purpose")
parser.add_argument("objects", nargs="+")
args = parser.parse_args()

STRONG = set("TDBRSGC")  # text, data, bss, read-only, small data, common; lower case is local, W V u are weak
bad = []
for path in args.objects:
    listing = subprocess.run([args.nm, "--demangle", "--defined-only", "--extern-only", path], check=True,
                             capture_output=True, text=True).stdout
    for line in listing.splitlines():
        parts = line.split(None, 2)
        if len(parts) == 3 and parts[1] in STRONG:
            name = parts[2].split("(")[0]
            # nvcc gives some local things, and its handle of an object in relocatable device code, a global name with a
            # hash of the file in it.
            hashed = "(anonymous namespace)" in parts[2] or name.startswith("__fatbinwrap_")
            if name != "main" and name not in args.allow and not hashed:
                bad.append(f"{path}: {parts[1]} {parts[2]}")

for line in bad:
    print(line)
print(f"{len(args.objects)} objects, {len(bad)} strong symbols that would clash in a second translation unit")
sys.exit(1 if bad else 0)
