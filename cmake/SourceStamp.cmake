# px_stamp(NAME FOLDER/FILE SOURCE FOLDERS...): a header FOLDER/FILE with `kNAME`, a hash of all sources below the folders of
# src/, the compiler and its flags, those of Folders.cmake included. What another build of the same sources left in a cache serves
# again; what other sources left there does not. SOURCE, in src/, is the file that includes the header.
if(CMAKE_SCRIPT_MODE_FILE)
  file(SHA256 ${CMAKE_CURRENT_LIST_DIR}/Folders.cmake hash)
  set(text "${COMPILER};${hash}")
  string(REPLACE " " ";" folders "${FOLDERS}")
  foreach(folder IN LISTS folders)
    file(GLOB_RECURSE files RELATIVE ${SOURCES} ${SOURCES}/${folder}/*.cc ${SOURCES}/${folder}/*.h ${SOURCES}/${folder}/*.def
      ${SOURCES}/${folder}/*.fbs)
    list(FILTER files EXCLUDE REGEX "_(test|bench|fuzz)\\.cc$")
    list(SORT files)
    foreach(file IN LISTS files)
      file(SHA256 ${SOURCES}/${file} hash)
      string(APPEND text ";${file} ${hash}")
    endforeach()
  endforeach()
  string(SHA256 stamp "${text}")
  file(CONFIGURE OUTPUT ${HEADER} CONTENT "inline constexpr char k${NAME}[] = \"${stamp}\";\n")
  return()
endif()

function(px_stamp name header source)
  set(sources "")
  foreach(folder IN LISTS ARGN)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS src/${folder}/*.cc src/${folder}/*.h src/${folder}/*.def src/${folder}/*.fbs)
    list(APPEND sources ${files})
  endforeach()
  string(TOUPPER "CMAKE_CXX_FLAGS_${CMAKE_BUILD_TYPE}" flags)
  set(compiler "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS} ${${flags}}")
  set(output ${CMAKE_CURRENT_BINARY_DIR}/generated/${header})
  list(JOIN ARGN " " folders)
  set(script ${CMAKE_CURRENT_SOURCE_DIR}/cmake/SourceStamp.cmake)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DSOURCES=${CMAKE_CURRENT_SOURCE_DIR}/src -DFOLDERS=${folders} -DHEADER=${output}
      -DCOMPILER=${compiler} -P ${script}
    DEPENDS ${sources} ${script} ${CMAKE_CURRENT_SOURCE_DIR}/cmake/Folders.cmake VERBATIM)
  string(REGEX REPLACE "/.*" "" target ${source})
  target_sources(px_${target} PRIVATE ${output})
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/src/${source} PROPERTIES
    OBJECT_DEPENDS ${output} INCLUDE_DIRECTORIES ${CMAKE_CURRENT_BINARY_DIR}/generated)
  add_custom_target(px_${name} DEPENDS ${output})
  add_dependencies(px_generated px_${name})
endfunction()
