#!/usr/bin/env python3
"""Builds and runs a stranger's project that gets Kiln in one of the ways that the README names."""
import argparse
import os
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("way", choices=["install", "build_tree", "add_subdirectory", "fetch_content", "include_path"])
for option in ("cmake", "cxx", "source", "build", "work", "version"):
    parser.add_argument("--" + option, required=True)
args = parser.parse_args()

consumer = os.path.join(args.source, "tests", "build", "consumer")
build = os.path.join(args.work, "build")
shutil.rmtree(args.work, ignore_errors=True)
os.makedirs(args.work)


def run(*command):
    print("+", " ".join(command), flush=True)
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def configure(way, *options):
    return run(args.cmake, "-S", consumer, "-B", build, f"-DCMAKE_CXX_COMPILER={args.cxx}", f"-DKILN_WAY={way}",
               f"-DKILN_VERSION={args.version}", f"-DKILN_SOURCE={args.source}", *options)


try:
    if args.way == "include_path":
        run(args.cxx, "-std=c++20", "-I", os.path.join(args.source, "include"), os.path.join(consumer, "main.cpp"),
            "-pthread", "-o", os.path.join(args.work, "consumer"))
        program = os.path.join(args.work, "consumer")
    else:
        if args.way == "install":
            prefix = os.path.join(args.work, "prefix")
            run(args.cmake, "--install", args.build, "--prefix", prefix)
            for name in ("include/kiln/version.hpp", "share/licenses/kiln/LICENSE"):
                assert os.path.exists(os.path.join(prefix, name)), f"{name} is not installed"
            # The package must work wherever it is moved to.
            moved = prefix + "-moved"
            os.rename(prefix, moved)
            configure("find_package", f"-DCMAKE_PREFIX_PATH={moved}")
        elif args.way == "build_tree":
            configure("find_package", f"-Dkiln_DIR={args.build}")
        else:
            configure(args.way)
        run(args.cmake, "--build", build)
        program = os.path.join(build, "consumer")
    said = run(program).strip()
    assert said == args.version, f"the program says {said}, the package is {args.version}"
except subprocess.CalledProcessError as error:
    print(error.stdout)
    sys.exit(f"failed: {error}")
except AssertionError as error:
    sys.exit(str(error))
