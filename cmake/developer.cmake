# What tests, examples and benchmarks share; no user of the library sees any of it.

set(KILN_CUDA "AUTO" CACHE STRING "Build for the device: AUTO (when a CUDA compiler is found), ON or OFF")
set_property(CACHE KILN_CUDA PROPERTY STRINGS AUTO ON OFF)
option(KILN_WERROR "Treat warnings as errors" OFF)
option(KILN_PTXAS_VERBOSE "Let ptxas print registers and spills of each kernel" OFF)

# Kiln's two sets of programs. The list never depends on the GPU of the machine that builds.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  set(CMAKE_CUDA_ARCHITECTURES "80;90a")
endif()

set(KILN_WITH_CUDA OFF)
if(KILN_CUDA STREQUAL "AUTO")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(KILN_WITH_CUDA ON)
  endif()
elseif(KILN_CUDA)
  set(KILN_WITH_CUDA ON)
endif()
if(KILN_WITH_CUDA)
  enable_language(CUDA)
  if(CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA" AND CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.4)
    message(FATAL_ERROR "Kiln needs nvcc 12.4 or newer, found ${CMAKE_CUDA_COMPILER_VERSION}: "
                        "update the CUDA toolkit or configure with -DKILN_CUDA=OFF")
  endif()
  message(STATUS "Kiln: host executor and device executor for ${CMAKE_CUDA_ARCHITECTURES}")
else()
  message(STATUS "Kiln: host executor alone (KILN_CUDA=${KILN_CUDA})")
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
  endif()
endif()

set(CMAKE_CXX_EXTENSIONS OFF)

# g++ 12 sees overruns in its own std::string (GCC bugs 105329, 105651).
set(host_warnings -Wall -Wextra -Wconversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND host_warnings -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow)
endif()
if(KILN_WERROR)
  list(APPEND host_warnings -Werror)
endif()
list(JOIN host_warnings "," forwarded_warnings)
# A target's own options stand before those that it inherits, so it cannot switch this one off by -Wno-shadow.
set(shadow "$<NOT:$<BOOL:$<TARGET_PROPERTY:KILN_SHADOWING>>>")

add_library(kiln_developer INTERFACE)
target_link_libraries(kiln_developer INTERFACE kiln::kiln)
target_include_directories(kiln_developer INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(
  kiln_developer
  INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${host_warnings}>" "$<$<AND:$<COMPILE_LANGUAGE:CXX>,${shadow}>:-Wshadow>"
            "$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-Xcompiler=${forwarded_warnings}>"
            "$<$<AND:$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>,${shadow}>:-Xcompiler=-Wshadow>"
            "$<$<AND:$<BOOL:${KILN_WERROR}>,$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>>:-Werror=all-warnings>"
            "$<$<AND:$<BOOL:${KILN_PTXAS_VERBOSE}>,$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>>:-Xptxas=-v>")

include("${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake")
