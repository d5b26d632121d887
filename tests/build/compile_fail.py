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

A file with several lines `// expect:` makes as many mistakes: each gives one error, and the output may be so many times
as long.
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
    sentences = [m.strip() for m in re.findall(rf"^// expect-{re.escape(family)}: (.+)$", text, re.M)
                 or re.findall(r"^// expect: (.+)$", text, re.M)]
    if not sentences:
        return f"{source} has no line `// expect: sentence`"

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
    errors = [line for line in lines if re.search(r"\berror\b(?! detected|s? generated)", line)]
    errors = [line for line in errors if not re.match(r"\d+ errors?\b", line)]
    report = f"{len(lines)} lines, {len(output.encode())} bytes:\n{output}"
    if len(sentences) == 1:
        if not errors or sentences[0] not in errors[0]:
            return f"the first error does not say\n  {sentences[0]}\nbut\n  {errors[0] if errors else ''}\n{report}"
    else:
        for sentence in sorted(sentences, key=len, reverse=True):
            said = next((line for line in errors if sentence in line), None)
            if said is None:
                return f"no error says\n  {sentence}\n{report}"
            errors.remove(said)
        if errors:
            return f"an error that is not expected:\n  {errors[0]}\n{report}"
    most = len(sentences)
    if len(lines) > most * MAX_LINES or len(output.encode()) > most * MAX_BYTES:
        return f"too long, at most {most * MAX_LINES} lines and {most * MAX_BYTES} bytes: {report}"
    print(report)
    return None


error = main()
if error:
    print(error)
sys.exit(1 if error else 0)
