# Build rules shared by every folder: compiler flags, dependencies, and two functions,
# busbw_library and busbw_test, so that a folder's CMakeLists.txt only lists its files.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# -O2 as in RelWithDebInfo: -O3 costs compile time and gains nothing measurable here.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

find_program(BUSBW_CCACHE ccache)
if(BUSBW_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${BUSBW_CCACHE})
endif()

add_library(busbw_flags INTERFACE)
# -ffp-contract=off: the same sums on every x86-64 level and compiler (no fma for a*b+c).
target_compile_options(busbw_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -ffp-contract=off
  # g++ 12 warns of an overlap in "text" + std::string that cannot happen (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # What is packaged names no folder of the building machine, in __FILE__ neither.
  $<$<CONFIG:Release>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>)
if(BUSBW_WERROR)
  target_compile_options(busbw_flags INTERFACE -Werror)
endif()
# -g1: reports name files and lines; full debug information costs a third of the build.
foreach(sanitizer ${BUSBW_SANITIZE})
  target_compile_options(busbw_flags INTERFACE -fsanitize=${sanitizer} -fno-omit-frame-pointer -g1)
  target_link_options(busbw_flags INTERFACE -fsanitize=${sanitizer})
endforeach()
if("thread" IN_LIST BUSBW_SANITIZE)
  # SimGrid's headers fence when they free an actor; only one thread ever does.
  target_compile_options(busbw_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
endif()
if("undefined" IN_LIST BUSBW_SANITIZE)
  target_compile_options(busbw_flags INTERFACE -fno-sanitize-recover=undefined)
endif()
target_include_directories(busbw_flags INTERFACE ${PROJECT_SOURCE_DIR})

find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(pugixml REQUIRED)
find_package(Boost REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(SIMGRID REQUIRED IMPORTED_TARGET simgrid)

# Optional at build time. Their absence is reported here and by `busbw version`.
pkg_check_modules(IBVERBS IMPORTED_TARGET libibverbs)
pkg_check_modules(HWLOC IMPORTED_TARGET hwloc)
find_package(CUDAToolkit QUIET)
if(NOT IBVERBS_FOUND)
  message(STATUS "busbw: libibverbs (rdma-core) not found: no verbs in this build")
endif()
if(NOT CUDAToolkit_FOUND)
  message(STATUS "busbw: CUDA Toolkit not found: no GPU buffers in this build")
endif()

# busbw_library(NAME SOURCES file... [DEPS target...])
# Static library busbw_NAME with alias busbw::NAME. DEPS are public.
function(busbw_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(busbw_${name} STATIC ${ARG_SOURCES})
  add_library(busbw::${name} ALIAS busbw_${name})
  target_link_libraries(busbw_${name} PUBLIC busbw_flags ${ARG_DEPS})
  if(BUSBW_CLANG_TIDY)
    set_target_properties(busbw_${name} PROPERTIES CXX_CLANG_TIDY "clang-tidy")
  endif()
endfunction()

# Sanitized programs take several times as long.
function(busbw_test_time seconds)
  if(BUSBW_SANITIZE)
    math(EXPR ${seconds} "5 * ${${seconds}}")
  endif()
  set(${seconds} ${${seconds}} PARENT_SCOPE)
endfunction()

# busbw_test(NAME SOURCES file... [DEPS target...] [LABELS label...] [TIMEOUT seconds])
# One GoogleTest program, each of its cases a CTest test. BUSBW_SOURCE_DIR names the source tree
# (catalogues, golden files), BUSBW_SHARED_DIR the reference material that may be absent.
function(busbw_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  busbw_test_time(ARG_TIMEOUT)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE busbw_flags GTest::gtest GTest::gtest_main ${ARG_DEPS})
  target_compile_definitions(${name} PRIVATE
    BUSBW_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    BUSBW_SHARED_DIR="${PROJECT_SOURCE_DIR}/../shared/reference"
    BUSBW_BINARY_DIR="${PROJECT_BINARY_DIR}")
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()

# busbw_python_test(NAME FILE [ARGS argument...] [LABELS label...] [TIMEOUT seconds])
# A unittest file, or a check that exits non-zero, as one CTest test. BUSBW_PROGRAM names the built
# program; BUSBW_SANITIZE the sanitizers, under which bounds of time and memory are not tested.
find_program(BUSBW_PYTHON python3)
function(busbw_python_test name file)
  cmake_parse_arguments(ARG "" "TIMEOUT" "ARGS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  busbw_test_time(ARG_TIMEOUT)
  string(REPLACE ";" "," sanitizers "${BUSBW_SANITIZE}")
  add_test(NAME ${name} COMMAND ${BUSBW_PYTHON} -B ${file} ${ARG_ARGS})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
    ENVIRONMENT "BUSBW_PROGRAM=${PROJECT_BINARY_DIR}/busbw;BUSBW_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
    ENVIRONMENT_MODIFICATION "BUSBW_SANITIZE=set:${sanitizers}")
endfunction()
