# Everything comes from Debian packages (scripts/setup.sh installs them). Only tl::expected is part of the public headers.
find_package(Threads REQUIRED)
# What programs need of Highway's library, which measures a timer for 3 ms when it is loaded, and of {fmt}'s. Debian has archives of
# neither.
find_path(HWY_INCLUDE hwy/highway.h REQUIRED)
add_library(px_highway STATIC ${CMAKE_CURRENT_LIST_DIR}/highway_targets.cc)
target_include_directories(px_highway SYSTEM PUBLIC $<BUILD_INTERFACE:${HWY_INCLUDE}>)
find_path(FMT_INCLUDE fmt/core.h REQUIRED)
add_library(px_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt_functions.cc)
target_include_directories(px_fmt SYSTEM PUBLIC $<BUILD_INTERFACE:${FMT_INCLUDE}>)
target_compile_options(px_fmt PRIVATE -ffunction-sections -fdata-sections)
if(PARALLAX_STATIC)
  add_library(fmt::fmt ALIAS px_fmt)
  add_library(hwy::hwy ALIAS px_highway)
  add_link_options(-static)
else()
  find_package(fmt REQUIRED)
  find_package(hwy QUIET CONFIG)
endif()
find_package(tl-expected QUIET)
if(NOT TARGET tl::expected)
  add_library(tl::expected INTERFACE IMPORTED)
endif()

find_path(PROTOZERO_INCLUDE protozero/pbf_reader.hpp REQUIRED)
add_library(protozero INTERFACE)
target_include_directories(protozero SYSTEM INTERFACE ${PROTOZERO_INCLUDE})

# flatc runs when the build begins, also in a cross build.
find_program(FLATC flatc REQUIRED)
find_path(FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h REQUIRED)
add_library(px_flatbuffers INTERFACE)
target_include_directories(px_flatbuffers SYSTEM INTERFACE ${FLATBUFFERS_INCLUDE})
# Its headers parse numbers in texts, which nothing here reads, with a locale that is in its library.
target_compile_definitions(px_flatbuffers INTERFACE FLATBUFFERS_LOCALE_INDEPENDENT=0)

find_path(XXHASH_INCLUDE xxhash.h REQUIRED)
add_library(px_xxhash INTERFACE)
target_include_directories(px_xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE})

find_path(TOMLPLUSPLUS_INCLUDE toml++/toml.h REQUIRED)
add_library(tomlplusplus INTERFACE)
target_include_directories(tomlplusplus SYSTEM INTERFACE ${TOMLPLUSPLUS_INCLUDE} ${PROJECT_SOURCE_DIR}/cmake/include)

find_path(STB_INCLUDE stb/stb_image.h REQUIRED)
add_library(px_stb INTERFACE)
target_include_directories(px_stb SYSTEM INTERFACE ${STB_INCLUDE})

# RegexFullMatch: time linear in text and pattern, whatever these are.
if(NOT TARGET re2::re2)
  find_path(RE2_INCLUDE re2/re2.h REQUIRED)
  if(PARALLAX_STATIC)
    find_library(RE2_LIBRARY NAMES libre2.a REQUIRED)
  else()
    find_library(RE2_LIBRARY re2 REQUIRED)
  endif()
  add_library(re2::re2 UNKNOWN IMPORTED)
  set_target_properties(re2::re2 PROPERTIES IMPORTED_LOCATION ${RE2_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${RE2_INCLUDE})
endif()

# Types only: libOpenCL is found at run time.
find_path(OPENCL_INCLUDE CL/cl.h REQUIRED)
add_library(px_opencl_headers INTERFACE)
target_include_directories(px_opencl_headers SYSTEM INTERFACE ${OPENCL_INCLUDE})

if(NOT TARGET hwy::hwy)
  find_library(HWY_LIBRARY hwy REQUIRED)
  add_library(hwy::hwy UNKNOWN IMPORTED)
  set_target_properties(hwy::hwy PROPERTIES IMPORTED_LOCATION ${HWY_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${HWY_INCLUDE})
endif()

if(PARALLAX_BUILD_TOOLS OR PARALLAX_BUILD_TESTS)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
endif()
if(PARALLAX_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_path(RAPIDCHECK_INCLUDE rapidcheck.h REQUIRED)
  find_library(RAPIDCHECK_LIBRARY rapidcheck REQUIRED)
  add_library(px_rapidcheck INTERFACE)
  target_include_directories(px_rapidcheck SYSTEM INTERFACE ${RAPIDCHECK_INCLUDE})
  target_link_libraries(px_rapidcheck INTERFACE ${RAPIDCHECK_LIBRARY})
endif()
