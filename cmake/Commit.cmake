# px_commit(TARGET): a header commit.h for TARGET with `kCommit`: the commit that the sources are at, "-dirty" where they differ from
# it, empty where git does not know. Looked up at every build; the header is written only when that changes.
if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(COMMAND git describe --always --abbrev=12 --dirty --exclude=* WORKING_DIRECTORY ${SOURCES} OUTPUT_VARIABLE commit
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(CONFIGURE OUTPUT ${HEADER} CONTENT "inline constexpr char kCommit[] = \"${commit}\";\n")
  return()
endif()

function(px_commit target)
  set(header ${CMAKE_CURRENT_BINARY_DIR}/generated/commit.h)
  add_custom_target(${target}_commit BYPRODUCTS ${header} COMMENT "" VERBATIM
    COMMAND ${CMAKE_COMMAND} -DSOURCES=${PROJECT_SOURCE_DIR} -DHEADER=${header} -P ${PROJECT_SOURCE_DIR}/cmake/Commit.cmake)
  add_dependencies(${target} ${target}_commit)
  add_dependencies(px_generated ${target}_commit)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
endfunction()
