# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: by component the daemon, the tools, the measurements, the monitoring and the documentation.
# (The component gpu-bundle is a folder of its own and no part of this.)
include(GNUInstallDirs)
find_package(Python3 COMPONENTS Interpreter)

# A program and its man page, which is made of what the program says with --help. Both are left out where they are not built.
function(l3_install_program program section component)
  install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component} OPTIONAL)
  if(Python3_FOUND)
    set(page ${PROJECT_BINARY_DIR}/man/${program}.${section})
    set(template ${PROJECT_SOURCE_DIR}/deploy/man/${program}.${section}.in)
    set(make ${PROJECT_SOURCE_DIR}/cmake/make_man_page.py)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/man)
    add_custom_command(OUTPUT ${page}
      COMMAND ${Python3_EXECUTABLE} ${make} $<TARGET_FILE:${program}> ${PROJECT_VERSION} ${template} > ${page}
      DEPENDS ${program} ${template} ${make} VERBATIM)
    add_custom_target(${program}-man ALL DEPENDS ${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT ${component} OPTIONAL)
  endif()
endfunction()

l3_install_program(koto-l3d 8 daemon)
l3_install_program(koto-l3 1 tools)
if(Python3_FOUND)
  add_dependencies(programs koto-l3d-man koto-l3-man)
endif()
if(TARGET koto-l3-bench)
  l3_install_program(koto-l3-bench 1 bench)
endif()

set(l3_deploy ${PROJECT_SOURCE_DIR}/deploy)
install(FILES ${l3_deploy}/detector.toml ${l3_deploy}/selection.toml DESTINATION ${CMAKE_INSTALL_DATADIR}/koto-l3 COMPONENT daemon)
install(FILES ${l3_deploy}/alerts.yml ${l3_deploy}/prometheus.yml ${l3_deploy}/dashboard.json
  DESTINATION ${CMAKE_INSTALL_DATADIR}/koto-l3/monitoring COMPONENT monitoring)
install(FILES README.md CHANGELOG.md SECURITY.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(FILES ${l3_deploy}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/deploy COMPONENT doc)

# The unit and the configuration: they name paths that are known when `cmake --install` is called.
configure_file(cmake/install_service.cmake.in install_service.cmake @ONLY)
install(SCRIPT ${PROJECT_BINARY_DIR}/install_service.cmake COMPONENT daemon)
