# Flags of all targets, and the ways a folder or a source becomes a target.
add_library(project_flags INTERFACE)
target_compile_options(project_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
target_include_directories(project_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
# GCC 12 reports these falsely inside the standard library and Boost when it inlines (GCC bugs 105329, 105651).
target_compile_options(project_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow)
set(SANITIZE "" CACHE STRING "address,undefined or thread: build everything with this sanitizer")
if(SANITIZE)
  target_compile_options(project_flags INTERFACE -fsanitize=${SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(project_flags INTERFACE -fsanitize=${SANITIZE})
endif()

# layer(NAME deps...): a static library of every .cc below the current folder.
function(layer name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE project_flags ${ARGN})
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC project_flags ${ARGN})
endfunction()

# layer_test(NAME deps...): one gtest binary of every .cc in the current folder.
function(layer_test name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE project_flags GTest::gmock_main ${ARGN})
  gtest_discover_tests(${name} PROPERTIES TIMEOUT 120 DISCOVERY_TIMEOUT 60)
endfunction()

# binary(NAME SOURCE deps...): an executable that is shipped.
function(binary name source)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE project_flags ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  add_dependencies(binaries ${name})
endfunction()
