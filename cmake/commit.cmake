# SPDX-License-Identifier: Apache-2.0
# l3_name_commit(PROGRAM…): puts the commit of the sources into these programs (monitor/version.hpp). As a script, which
# runs in every build, it writes FILE if the commit has changed: cmake -D SOURCE=… -D FILE=… -P commit.cmake
if(CMAKE_SCRIPT_MODE_FILE)
  cmake_policy(VERSION 3.25)
  string(SUBSTRING "$Format:%H$" 0 12 commit) # git archive puts the commit here
  if(NOT commit MATCHES "^[0-9a-f]+$")
    set(commit unknown)
  endif()
  if(EXISTS ${SOURCE}/.git)
    execute_process(COMMAND git -c safe.directory=* describe --always --dirty --exclude=* --abbrev=12 WORKING_DIRECTORY ${SOURCE}
      OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(described)
      set(commit ${described})
    endif()
  endif()
  file(CONFIGURE OUTPUT ${FILE} @ONLY CONTENT "// SPDX-License-Identifier: Apache-2.0
#include \"monitor/version.hpp\"
std::string_view l3::commit() { return \"@commit@\"; }
")
  return()
endif()

set(l3_commit_source ${PROJECT_BINARY_DIR}/commit.cpp)
add_custom_target(l3-commit BYPRODUCTS ${l3_commit_source}
  COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D FILE=${l3_commit_source} -P ${CMAKE_CURRENT_LIST_FILE})

function(l3_name_commit)
  foreach(program IN LISTS ARGN)
    target_sources(${program} PRIVATE ${l3_commit_source})
    set_source_files_properties(${l3_commit_source} PROPERTIES GENERATED ON)
    add_dependencies(${program} l3-commit)
    target_link_libraries(${program} PRIVATE l3_version)
  endforeach()
endfunction()
