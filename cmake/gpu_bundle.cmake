# SPDX-License-Identifier: Apache-2.0
# The folder of `./run gpu-bundle`: programs, kernel tests and every library they need except the C library and the driver, so
# that it runs on a GPU host without koto-l3's build dependencies. Its gpu-check reports the results, and its --help says
# which C library the host needs.
if(NOT L3_HAVE_CUDA OR NOT L3_TESTS OR L3_SANITIZE)
  return()
endif()

set(L3_GPU_BUNDLE ${PROJECT_BINARY_DIR}/koto-l3-gpu)
set(l3_bundled_programs koto-l3 koto-l3-bench koto-l3d)
# The tests with kernels, and the one that compares whole selections with the other executors. Other tests would show nothing
# new on a GPU host, and the folder should stay small.
set(l3_bundled_tests "")
foreach(room IN ITEMS gpu selection daemon)
  get_property(targets DIRECTORY ${PROJECT_SOURCE_DIR}/tests/${room} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE" AND target MATCHES "_cuda_test$|^selection_test$|^fault_drills_test$" AND NOT target MATCHES "example")
      list(APPEND l3_bundled_tests ${target})
    endif()
  endforeach()
endforeach()

foreach(target IN LISTS l3_bundled_programs l3_bundled_tests)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  # DT_RPATH, not DT_RUNPATH: only the former also applies to the libraries' own libraries.
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
endforeach()

install(TARGETS ${l3_bundled_programs} RUNTIME_DEPENDENCY_SET l3_bundled DESTINATION bin COMPONENT gpu-bundle EXCLUDE_FROM_ALL)
install(TARGETS ${l3_bundled_tests} RUNTIME_DEPENDENCY_SET l3_bundled DESTINATION tests COMPONENT gpu-bundle EXCLUDE_FROM_ALL)
# The compiler's runtime is in a separate folder, where the programs do not look: it needs a newer C library than everything else,
# and most hosts have a suitable one. gpu-check uses it only if necessary.
set(l3_libc "ld-linux.*|libc|libm|libdl|librt|libpthread|libresolv")
set(l3_compiler_runtime "libstdc..|libgcc_s")
install(RUNTIME_DEPENDENCY_SET l3_bundled DESTINATION lib COMPONENT gpu-bundle EXCLUDE_FROM_ALL
  PRE_EXCLUDE_REGEXES "^(${l3_libc}|${l3_compiler_runtime})\\.so")
install(RUNTIME_DEPENDENCY_SET l3_bundled DESTINATION lib/runtime COMPONENT gpu-bundle EXCLUDE_FROM_ALL
  PRE_INCLUDE_REGEXES "^(${l3_compiler_runtime})\\.so" PRE_EXCLUDE_REGEXES ".*")
install(PROGRAMS ${PROJECT_SOURCE_DIR}/deploy/gpu-check DESTINATION . COMPONENT gpu-bundle EXCLUDE_FROM_ALL)
install(CODE "
  execute_process(COMMAND git describe --always --dirty WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(WRITE \${CMAKE_INSTALL_PREFIX}/VERSION \"koto-l3 ${L3_VERSION} \${commit}\\n\")" COMPONENT gpu-bundle EXCLUDE_FROM_ALL)

add_custom_target(gpu-bundle
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${L3_GPU_BUNDLE}
  COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --component gpu-bundle --prefix ${L3_GPU_BUNDLE} --strip
    > ${PROJECT_BINARY_DIR}/gpu-bundle.log
  DEPENDS ${l3_bundled_programs} ${l3_bundled_tests}
  COMMENT "making ${L3_GPU_BUNDLE}")
