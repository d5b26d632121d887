# Third-party libraries of tests, examples and benchmarks: the system's where it has them, else fetched.
include(FetchContent)

# kiln_dependency(<package> <target it must define> <repository> <tag>)
macro(kiln_dependency package target repository tag)
  if(NOT TARGET ${target})
    find_package(${package} QUIET)
  endif()
  if(NOT TARGET ${target})
    message(STATUS "Kiln: ${package} is not installed, fetching ${repository} ${tag}")
    FetchContent_Declare(${package} GIT_REPOSITORY https://github.com/${repository}.git GIT_TAG ${tag} GIT_SHALLOW ON)
    FetchContent_MakeAvailable(${package})
  endif()
endmacro()

macro(kiln_need_gtest)
  set(INSTALL_GTEST OFF CACHE BOOL "" FORCE)
  kiln_dependency(GTest GTest::gtest_main google/googletest v1.14.0)
endmacro()

macro(kiln_need_benchmark)
  set(BENCHMARK_ENABLE_TESTING OFF CACHE BOOL "" FORCE)
  set(BENCHMARK_ENABLE_INSTALL OFF CACHE BOOL "" FORCE)
  kiln_dependency(benchmark benchmark::benchmark google/benchmark v1.8.3)
endmacro()

macro(kiln_need_json)
  kiln_dependency(nlohmann_json nlohmann_json::nlohmann_json nlohmann/json v3.11.3)
endmacro()

macro(kiln_need_cli)
  kiln_dependency(CLI11 CLI11::CLI11 CLIUtils/CLI11 v2.4.1)
endmacro()
