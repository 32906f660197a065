# px_flat_schema(FOLDER/NAME): flatc makes a header FOLDER/NAME.h of src/FOLDER/NAME.fbs, for the library of FOLDER's first directory and
# those that link it. It is a system header: its warnings are flatc's.
function(px_flat_schema schema)
  set(input ${CMAKE_CURRENT_SOURCE_DIR}/src/${schema}.fbs)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/generated/flat/${schema}.h)
  cmake_path(GET output PARENT_PATH folder)
  add_custom_command(OUTPUT ${output}
    COMMAND ${FLATC} --cpp --cpp-std c++17 --scoped-enums --filename-suffix "" -o ${folder} ${input}
    DEPENDS ${input} VERBATIM)
  string(REGEX REPLACE "/.*" "" target ${schema})
  target_sources(px_${target} PRIVATE ${output})
  target_include_directories(px_${target} SYSTEM PUBLIC ${CMAKE_CURRENT_BINARY_DIR}/generated/flat)
  string(REPLACE / _ name ${schema})
  add_custom_target(px_${name} DEPENDS ${output})
  add_dependencies(px_generated px_${name})
endfunction()
