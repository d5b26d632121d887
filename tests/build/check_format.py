#!/usr/bin/env python3
"""What a formatter need not be installed for: lines of at most 120 columns, no tabs, no blanks at the end of a line, a
newline at the end of a file, `#pragma once` in headers, no path that only one machine has, and headers of the library that
see to the C++ standard (version.hpp) before they use it."""
import os
import re
import sys

COLUMNS = 120
FOLDERS = ("include", "tests", "examples", "benchmarks", "cmake", "docs")
SOURCES = (".hpp", ".cpp", ".cu")
OTHERS = (".py", ".cmake", ".sh", ".md", ".txt")
ONE_MACHINE = re.compile(r"(?<![\w.$}/])/(home|root|work|mnt|Users|tmp|scratch)/")


def checks_standard_first(header, include):
    """Whether the first of Kiln's headers that this one includes is version.hpp, or does so itself."""
    while header != "kiln/version.hpp":
        with open(os.path.join(include, header), encoding="utf-8") as file:
            first = re.search(r"^#include <(kiln/[^>]+)>", file.read(), re.M)
        if not first:
            return False
        header = first[1]
    return True


def complaints(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    source = path.endswith(SOURCES)
    if text and not text.endswith("\n"):
        yield text.count("\n") + 1, "no newline at the end of the file"
    if path.endswith(".hpp") and not re.search(r"^#pragma once$", text, re.M):
        yield 1, "a header without `#pragma once`"
    for number, line in enumerate(text.splitlines(), 1):
        # A sentence that a compiler is expected to say stands in one line.
        if source and len(line) > COLUMNS and not line.startswith("// expect"):
            yield number, f"{len(line)} columns, at most {COLUMNS}"
        if "\t" in line:
            yield number, "a tab"
        if line != line.rstrip():
            yield number, "blanks at the end of the line"
        if ONE_MACHINE.search(line):
            yield number, "a path of one machine"


def main(root):
    found = files = 0
    for folder in FOLDERS:
        for where, _, names in os.walk(os.path.join(root, folder)):
            if f"{os.sep}data{os.sep}" in where + os.sep:
                continue
            for name in sorted(names):
                if not name.endswith(SOURCES + OTHERS):
                    continue
                path = os.path.join(where, name)
                files += 1
                for number, what in complaints(path):
                    print(f"{os.path.relpath(path, root)}:{number}: {what}")
                    found += 1
                include = os.path.join(root, "include")
                if folder == "include" and not checks_standard_first(os.path.relpath(path, include), include):
                    print(f"{os.path.relpath(path, root)}:1: another standard's errors come before version.hpp's")
                    found += 1
    print(f"{files} files, {found} complaints")
    return 1 if found or files == 0 else 0


sys.exit(main(sys.argv[1]))
