# SPDX-License-Identifier: Apache-2.0
# `cpack` in a build folder makes RPMs of the components of install.cmake: koto-l3d, koto-l3, koto-l3-receive, koto-l3-monitoring,
# koto-l3-bench. docs/installing.md says how far they were tested. Debian's packages are made by debian/, not by this.
set(CPACK_GENERATOR RPM)
set(CPACK_PACKAGE_NAME koto-l3)
set(CPACK_PACKAGE_VERSION ${L3_DEBIAN_VERSION})
set(CPACK_PACKAGE_VENDOR "koto-l3 maintainers")
set(CPACK_PACKAGE_CONTACT "koto-l3 maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL daemon tools doc receive monitoring bench)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_AUTOREQ ON)
set(CPACK_PACKAGE_RELOCATABLE OFF) # a unit contains paths
set(CPACK_RPM_SPEC_MORE_DEFINE "%define packager koto-l3 maintainers")
# Folders of the system, which a package must not own.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /etc /usr/lib/systemd /usr/lib/systemd/system /usr/lib/sysusers.d /usr/lib/tmpfiles.d
  /usr/lib/sysctl.d /usr/share/man /usr/share/man/man1 /usr/share/man/man8 /usr/share/bash-completion
  /usr/share/bash-completion/completions /usr/share/zsh /usr/share/zsh/vendor-completions)

function(l3_rpm group summary)
  string(TOUPPER ${group} name)
  set(CPACK_RPM_${name}_PACKAGE_NAME ${group} PARENT_SCOPE)
  set(CPACK_RPM_${name}_PACKAGE_SUMMARY "Level-3 trigger of the KOTO experiment: ${summary}" PARENT_SCOPE)
  set(CPACK_RPM_${name}_PACKAGE_DESCRIPTION "Part of koto-l3, the level-3 trigger of the KOTO experiment:\n${summary}." PARENT_SCOPE)
  set(CPACK_RPM_${name}_FILE_NAME RPM-DEFAULT PARENT_SCOPE)
endfunction()
l3_rpm(koto-l3d "daemon")
l3_rpm(koto-l3 "tools")
l3_rpm(koto-l3-receive "receiver as a service")
l3_rpm(koto-l3-monitoring "alerts and dashboards")
l3_rpm(koto-l3-bench "measurements")
set(CPACK_RPM_KOTO-L3-RECEIVE_PACKAGE_REQUIRES "koto-l3 = ${L3_DEBIAN_VERSION}")
set(CPACK_RPM_KOTO-L3-RECEIVE_PACKAGE_ARCHITECTURE noarch)
set(CPACK_RPM_KOTO-L3-MONITORING_PACKAGE_ARCHITECTURE noarch)
set(CPACK_RPM_KOTO-L3D_USER_FILELIST "%config(noreplace) /etc/koto-l3/l3.toml")
set(CPACK_RPM_KOTO-L3-RECEIVE_USER_FILELIST "%config(noreplace) /etc/koto-l3/receive.toml")

# The services: like Debian's packages, they start nothing, and restart running services after an upgrade.
foreach(unit IN ITEMS koto-l3d koto-l3-receive)
  string(TOUPPER ${unit} name)
  file(WRITE ${PROJECT_BINARY_DIR}/rpm/${unit}.post "systemd-sysusers ${unit}.conf || :
systemd-tmpfiles --create ${unit}.conf || :
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || :
  if [ \"$1\" -gt 1 ]; then systemctl try-restart ${unit}.service || :; fi
fi
")
  file(WRITE ${PROJECT_BINARY_DIR}/rpm/${unit}.preun "if [ \"$1\" -eq 0 ] && [ -d /run/systemd/system ]; then systemctl --no-reload disable --now ${unit}.service || :; fi\n")
  set(CPACK_RPM_${name}_POST_INSTALL_SCRIPT_FILE ${PROJECT_BINARY_DIR}/rpm/${unit}.post)
  set(CPACK_RPM_${name}_PRE_UNINSTALL_SCRIPT_FILE ${PROJECT_BINARY_DIR}/rpm/${unit}.preun)
endforeach()

include(CPack)
cpack_add_component(daemon GROUP koto-l3d)
cpack_add_component(tools GROUP koto-l3)
cpack_add_component(doc GROUP koto-l3)
cpack_add_component(receive GROUP koto-l3-receive)
cpack_add_component(monitoring GROUP koto-l3-monitoring)
cpack_add_component(bench GROUP koto-l3-bench)
foreach(group IN ITEMS koto-l3d koto-l3 koto-l3-receive koto-l3-monitoring koto-l3-bench)
  cpack_add_component_group(${group})
endforeach()
