#!/bin/sh
# Sees to the tools that `make test` needs, or with the argument `demo` that `make demo` needs: installs what is missing on Debian or Ubuntu, else says what to install.
set -eu

missing=""
have_header() { printf '#include <%s>\n' "$1" | "${CXX:-c++}" -std=c++20 -E -x c++ - >/dev/null 2>&1; }
command -v cmake >/dev/null 2>&1 || missing="$missing cmake"
command -v ninja >/dev/null 2>&1 || missing="$missing ninja-build"
command -v python3 >/dev/null 2>&1 || missing="$missing python3"
command -v "${CXX:-c++}" >/dev/null 2>&1 || missing="$missing g++"
[ "${1:-}" = demo ] || have_header gtest/gtest.h || missing="$missing libgtest-dev"
[ "${1:-}" = demo ] || have_header benchmark/benchmark.h || missing="$missing libbenchmark-dev"
have_header nlohmann/json.hpp || missing="$missing nlohmann-json3-dev"
have_header CLI/CLI.hpp || missing="$missing libcli11-dev"

if [ -n "$missing" ]; then
  as_root=""
  can_install=no
  if command -v apt-get >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ]; then
      can_install=yes
    elif sudo -n true 2>/dev/null; then
      can_install=yes
      as_root="sudo -n"
    fi
  fi
  if [ $can_install = yes ]; then
    echo "Installing:$missing"
    log="$(mktemp)"
    { $as_root apt-get update -q &&
      $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing; } \
      >"$log" 2>&1 </dev/null || { cat "$log"; echo "Please install these packages:$missing"; exit 1; }
    rm -f "$log"
  else
    # Libraries alone can be fetched by CMake; compilers and CMake cannot.
    case "$missing" in
      *cmake* | *g++* | *python3*)
        echo "Please install these packages, or what they are called on this system:$missing"
        exit 1
        ;;
      *) echo "Not installed, so CMake will fetch them or do without:$missing" ;;
    esac
  fi
fi

version="$(cmake --version | sed -n 's/^cmake version //p')"
oldest="$(printf '3.22\n%s\n' "$version" | sort -V | head -n 1)"
if [ "$oldest" != 3.22 ]; then
  echo "Please install CMake 3.22 or newer: found $version."
  exit 1
fi
if ! printf '#include <concepts>\n#include <bit>\nint main() { return std::bit_cast<int>(0u); }\n' |
  "${CXX:-c++}" -std=c++20 -fsyntax-only -x c++ - 2>/dev/null; then
  echo "Please install a compiler for C++20, g++ 11 or clang 14 or newer: $("${CXX:-c++}" --version | head -n 1) is none."
  exit 1
fi
