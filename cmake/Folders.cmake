# px_folder(NAME [DEPENDS folders...] [LIBRARIES targets...]): a static library px_NAME of all sources below src/NAME, and
# a test program px_NAME_test of its *_test.cc, a bench program px_NAME_bench of its *_bench.cc; a slash in NAME is an underscore
# in theirs. Sources are globbed: a new file needs no edit here.
include(GoogleTest OPTIONAL)

set(PX_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND PX_WARNINGS -Wno-restrict)  # false alarms on std::string + at -O3 (GCC bug 105651)
  set(PX_TEST_WARNINGS -Wno-maybe-uninitialized)  # false alarms on variants at -O1 with a sanitizer
endif()
# Tests are compiled more than they run: half the time of the sanitizers' builds goes without this.
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(PX_TEST_OPTIONS -O0 -fno-sanitize=undefined)
else()
  set(PX_TEST_OPTIONS -O1)
endif()
set_property(GLOBAL PROPERTY PX_FOLDERS "")

# px_fuzzers(LIBRARY FILES...): a libFuzzer program px_STEM of each STEM.cc among the files that ends in _fuzz.cc. The target
# px_fuzzers is all of them.
function(px_fuzzers library)
  list(FILTER ARGN INCLUDE REGEX "_fuzz\\.cc$")
  foreach(file IN LISTS ARGN)
    cmake_path(GET file STEM stem)
    add_executable(px_${stem} ${file})
    set_target_properties(px_${stem} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
    target_compile_options(px_${stem} PRIVATE ${PX_WARNINGS})
    target_link_options(px_${stem} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(px_${stem} PRIVATE ${library})
    if(NOT TARGET px_fuzzers)
      add_custom_target(px_fuzzers)
    endif()
    add_dependencies(px_fuzzers px_${stem})
  endforeach()
endfunction()

# px_precompile(LIBRARY): the standard headers are compiled once for all folders: parsing them is most of the time that most files
# take. Not beside a compiler cache, which would find nothing in another clone.
function(px_precompile library)
  if(CCACHE)
    return()
  endif()
  if(library MATCHES "_base$")
    target_precompile_headers(${library} PRIVATE <algorithm> <functional> <map> <memory> <optional> <span> <string> <vector>
      <fmt/core.h> <tl/expected.hpp>)
  else()
    target_precompile_headers(${library} REUSE_FROM px_base)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # More false alarms on std::string, from headers that count as ours then.
    target_compile_options(${library} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endfunction()

function(px_folder folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/${folder}/*.cc)
  string(REPLACE / _ name ${folder})
  if(NOT all)
    return()
  endif()
  set(tests ${all})
  set(benches ${all})
  set(sources ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cc$")

  add_library(px_${name} STATIC ${sources})
  target_include_directories(px_${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR}/include)
  target_compile_options(px_${name} PRIVATE ${PX_WARNINGS})
  # Multiply and add stay two roundings in plain C++: results must not depend on what the compiler fuses. Public, for tests that
  # compute the same, and for functions of headers, of which the linker keeps one.
  target_compile_options(px_${name} PUBLIC -ffp-contract=off)
  # Where no time is spent per tensor element or planned buffer, -O3 only compiles longer: by a tenth.
  if(NOT folder MATCHES "^(kernels|memory|schedule|compile|bind|run)$")
    target_compile_options(px_${name} PRIVATE $<$<CONFIG:Release>:-O2>)
  endif()
  target_link_libraries(px_${name} PUBLIC tl::expected Threads::Threads fmt::fmt ${ARG_LIBRARIES})
  px_precompile(px_${name})
  foreach(dep IN LISTS ARG_DEPENDS)
    string(REPLACE / _ dep ${dep})
    if(TARGET px_${dep})
      target_link_libraries(px_${name} PUBLIC px_${dep})
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY PX_FOLDERS px_${name})

  if(PARALLAX_BUILD_TESTS AND tests)
    add_executable(px_${name}_test ${tests})
    target_compile_options(px_${name}_test PRIVATE ${PX_WARNINGS} ${PX_TEST_WARNINGS} ${PX_TEST_OPTIONS})
    target_link_libraries(px_${name}_test PRIVATE px_${name} px_rapidcheck GTest::gtest GTest::gmock GTest::gtest_main)
    # Tests run in the source folder. An absolute path here would keep checkouts from sharing a compiler cache.
    target_compile_definitions(px_${name}_test PRIVATE PX_SOURCE_DIR=".")
    gtest_discover_tests(px_${name}_test TEST_PREFIX ${folder}/ DISCOVERY_MODE PRE_TEST
      WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  if(PARALLAX_BUILD_FUZZERS)
    px_fuzzers(px_${name} ${all})
  endif()
  if(PARALLAX_BUILD_BENCHES AND benches)
    find_package(benchmark REQUIRED)
    add_executable(px_${name}_bench ${benches})
    target_link_libraries(px_${name}_bench PRIVATE px_${name} benchmark::benchmark benchmark::benchmark_main)
  endif()
endfunction()

# px_combine(NAME): one static library of all folders, what users link.
function(px_combine name)
  get_property(folders GLOBAL PROPERTY PX_FOLDERS)
  set(objects "")
  foreach(folder IN LISTS folders)
    list(APPEND objects $<TARGET_OBJECTS:${folder}>)
  endforeach()
  add_library(${name} STATIC ${objects})
  add_library(Parallax::${name} ALIAS ${name})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PUBLIC tl::expected PRIVATE Threads::Threads fmt::fmt hwy::hwy)
endfunction()
