# kernels/packing_stamp.h: a hash of all that decides how weights are packed. Packed weights that another build of these
# sources left in a cache serve again; those of other sources, another compiler or other flags do not.
if(CMAKE_SCRIPT_MODE_FILE)
  file(GLOB_RECURSE files ${FOLDER}/*.cc ${FOLDER}/*.h ${FOLDER}/*.def)
  list(FILTER files EXCLUDE REGEX "_(test|bench|fuzz)\\.cc$")
  list(SORT files)
  set(text "${COMPILER}")
  foreach(file IN LISTS files)
    file(SHA256 ${file} hash)
    string(APPEND text ";${hash}")
  endforeach()
  string(SHA256 stamp "${text}")
  file(CONFIGURE OUTPUT ${HEADER} CONTENT "inline constexpr char kPackingStamp[] = \"${stamp}\";\n")
  return()
endif()

file(GLOB_RECURSE packing_sources CONFIGURE_DEPENDS src/kernels/*.cc src/kernels/*.h src/kernels/*.def)
string(TOUPPER "CMAKE_CXX_FLAGS_${CMAKE_BUILD_TYPE}" packing_flags)
set(packing_compiler "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS} ${${packing_flags}}")
set(packing_header ${CMAKE_CURRENT_BINARY_DIR}/generated/kernels/packing_stamp.h)
add_custom_command(OUTPUT ${packing_header}
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_CURRENT_SOURCE_DIR}/src/kernels -DHEADER=${packing_header}
    -DCOMPILER=${packing_compiler} -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${packing_sources} ${CMAKE_CURRENT_LIST_FILE} VERBATIM)
target_sources(px_kernels PRIVATE ${packing_header})
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/src/kernels/packing_version.cc PROPERTIES
  OBJECT_DEPENDS ${packing_header} INCLUDE_DIRECTORIES ${CMAKE_CURRENT_BINARY_DIR}/generated)
