# Flags of all targets, and the ways a folder or a source becomes a target.
add_library(project_flags INTERFACE)
target_compile_options(project_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
target_include_directories(project_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
# GCC 12 reports these falsely inside the standard library and Boost when it inlines (GCC bugs 105329, 105651).
target_compile_options(project_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
set(SANITIZE "" CACHE STRING "address,undefined or thread: build everything with this sanitizer")
if(SANITIZE)
  target_compile_options(project_flags INTERFACE -fsanitize=${SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(project_flags INTERFACE -fsanitize=${SANITIZE})
  # The thread sanitizer knows no fences. Asio has its queues' locks beside them.
  target_compile_definitions(project_flags INTERFACE $<$<STREQUAL:${SANITIZE},thread>:BOOST_ASIO_DISABLE_FENCED_BLOCK>)
endif()

# Precompiled headers, one for the product and one for tests; cut a cold build by a third. -fpch-preprocess lets ccache see through.
function(precompiled name header)
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/pch/empty.cc)
  target_link_libraries(${name} PRIVATE project_flags fmt::fmt Boost::json Threads::Threads ${ARGN})
  target_compile_options(${name} PRIVATE -fpch-preprocess)
  target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch/${header})
endfunction()
function(use_precompiled target name)
  target_link_libraries(${target} PRIVATE fmt::fmt Boost::json)  # the same definitions
  target_compile_options(${target} PRIVATE -fpch-preprocess)
  target_precompile_headers(${target} REUSE_FROM ${name})
endfunction()
precompiled(pch_product product.h)

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
  if(NOT name STREQUAL base)
    use_precompiled(${name} pch_product)
  endif()
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
  use_precompiled(${name} pch_test)
  gtest_discover_tests(${name} PROPERTIES TIMEOUT 120 DISCOVERY_TIMEOUT 60)
endfunction()

# binary(NAME SOURCE deps...): an executable that is shipped.
function(binary name source)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE project_flags ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  add_dependencies(binaries ${name})
endfunction()
