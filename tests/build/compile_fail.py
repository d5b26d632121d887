#!/usr/bin/env python3
"""One compile-fail test: a file that compiles as it stands and fails, in one sentence, with -DKILN_FAIL.

    // expect: the sentence that the first error must contain
    #include <kiln/...>
    #ifdef KILN_FAIL
    ... the mistake ...
    #else
    ... its correct twin ...
    #endif

`// expect-nvcc:`, `// expect-g++:` or `// expect-clang++:` replaces the sentence for one compiler. The whole output may have
15 lines and 2000 bytes, paths counted as if they were relative; the compiler gets no flag that a user would not give.
"""
import os
import re
import subprocess
import sys

MAX_LINES, MAX_BYTES = 15, 2000


def main():
    source = sys.argv[1]
    command = sys.argv[3:]
    compiler = os.path.basename(command[0])
    family = next((f for f in ("nvcc", "clang++", "g++") if compiler.startswith(f)), "g++")
    text = open(source, encoding="utf-8").read()
    if "KILN_FAIL" not in text:
        return f"{source} has no `#ifdef KILN_FAIL`"
    expected = re.search(rf"^// expect-{re.escape(family)}: (.+)$", text, re.M) or re.search(r"^// expect: (.+)$", text, re.M)
    if not expected:
        return f"{source} has no line `// expect: sentence`"
    sentence = expected.group(1).strip()

    def compile_it(*extra):
        result = subprocess.run([*command, *extra, source], capture_output=True, text=True,
                                env={**os.environ, "LC_ALL": "C"})
        return result.returncode, result.stdout + result.stderr

    code, output = compile_it()
    if code != 0:
        return f"the correct twin does not compile:\n{output}"
    code, output = compile_it("-DKILN_FAIL")
    if code == 0:
        return "the mistake compiles"

    # The place where a tree lies is not the library's doing.
    for flag in command:
        if flag.startswith("-I/"):
            output = output.replace(flag[2:] + "/", "")
    lines = output.splitlines()
    first = next((line for line in lines if re.search(r"\berror\b", line)), "")
    report = f"{len(lines)} lines, {len(output.encode())} bytes:\n{output}"
    if sentence not in first:
        return f"the first error does not say\n  {sentence}\nbut\n  {first}\n{report}"
    if len(lines) > MAX_LINES or len(output.encode()) > MAX_BYTES:
        return f"too long, at most {MAX_LINES} lines and {MAX_BYTES} bytes: {report}"
    print(report)
    return None


error = main()
if error:
    print(error)
sys.exit(1 if error else 0)
