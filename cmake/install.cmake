# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` installs, by component: daemon, tools, receive (the tools' receiver as a service), bench, monitoring,
# doc. debian/rules makes a package of each. (The component gpu-bundle is a separate folder and not part of this.)
include(GNUInstallDirs)
find_package(Python3 COMPONENTS Interpreter)

# A program, its man page, and its completion in bash and zsh, which are made from its --help. All are skipped if they are
# not built.
function(l3_install_program program section component)
  install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component} OPTIONAL)
  if(Python3_FOUND)
    set(page ${PROJECT_BINARY_DIR}/man/${program}.${section})
    set(template ${PROJECT_SOURCE_DIR}/deploy/man/${program}.${section}.in)
    set(make ${PROJECT_SOURCE_DIR}/cmake/make_man_page.py)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/man)
    add_custom_command(OUTPUT ${page}
      COMMAND ${Python3_EXECUTABLE} ${make} $<TARGET_FILE:${program}> ${L3_VERSION} ${template} > ${page}
      DEPENDS ${program} ${template} ${make} ${PROJECT_SOURCE_DIR}/cmake/help_text.py VERBATIM)
    set(completions)
    foreach(shell IN ITEMS bash zsh)
      set(completion ${PROJECT_BINARY_DIR}/man/${program}.${shell})
      set(make ${PROJECT_SOURCE_DIR}/cmake/make_completion.py)
      add_custom_command(OUTPUT ${completion}
        COMMAND ${Python3_EXECUTABLE} ${make} ${shell} $<TARGET_FILE:${program}> > ${completion}
        DEPENDS ${program} ${make} ${PROJECT_SOURCE_DIR}/cmake/help_text.py VERBATIM)
      list(APPEND completions ${completion})
    endforeach()
    add_custom_target(${program}-man ALL DEPENDS ${page} ${completions})
    install(FILES ${PROJECT_BINARY_DIR}/man/${program}.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
      RENAME ${program} COMPONENT ${component} OPTIONAL)
    install(FILES ${PROJECT_BINARY_DIR}/man/${program}.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
      RENAME _${program} COMPONENT ${component} OPTIONAL)
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
install(FILES ${l3_deploy}/detector.toml ${l3_deploy}/selection.toml ${l3_deploy}/selection-suppressed.toml DESTINATION ${CMAKE_INSTALL_DATADIR}/koto-l3 COMPONENT daemon)
install(FILES ${l3_deploy}/alerts.yml ${l3_deploy}/prometheus.yml ${l3_deploy}/alertmanager.yml ${l3_deploy}/dashboard.json
  ${l3_deploy}/dashboard-farm.json
  DESTINATION ${CMAKE_INSTALL_DATADIR}/koto-l3/monitoring COMPONENT monitoring)
install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md CITATION.cff LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(FILES ${l3_deploy}/run-control.openapi.json ${l3_deploy}/koto-l3d-without-gpu.conf DESTINATION ${CMAKE_INSTALL_DATADIR}/koto-l3 COMPONENT daemon)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc PATTERN "*.py" EXCLUDE)
install(FILES ${l3_deploy}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/deploy COMPONENT doc)
install(FILES python/README.md python/tutorial.py DESTINATION ${CMAKE_INSTALL_DOCDIR}/python COMPONENT doc)

# The services: their units, configurations, users, folders, and kernel settings. A unit contains paths that are known when
# `cmake --install` is called.
function(l3_install_service unit configuration component)
  install(FILES ${l3_deploy}/koto-l3.sysusers DESTINATION lib/sysusers.d RENAME ${unit}.conf COMPONENT ${component})
  install(FILES ${l3_deploy}/${unit}.tmpfiles DESTINATION lib/tmpfiles.d RENAME ${unit}.conf COMPONENT ${component})
  set(L3_UNIT ${unit}.service)
  set(L3_CONFIGURATION ${configuration})
  configure_file(cmake/install_service.cmake.in install_${unit}.cmake @ONLY)
  install(SCRIPT ${PROJECT_BINARY_DIR}/install_${unit}.cmake COMPONENT ${component})
endfunction()
l3_install_service(koto-l3d l3.toml daemon)
l3_install_service(koto-l3-receive receive.toml receive)
install(FILES ${l3_deploy}/koto-l3d.sysctl DESTINATION lib/sysctl.d RENAME 60-koto-l3d.conf COMPONENT daemon)
