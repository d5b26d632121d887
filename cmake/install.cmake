# Installed package and build-tree package: find_package(kiln) finds either.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_DATADIR}/cmake/kiln")

install(DIRECTORY include/kiln DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp" PATTERN "*.inc")
install(TARGETS kiln EXPORT kiln-targets)
install(EXPORT kiln-targets NAMESPACE kiln:: DESTINATION "${package_dir}")
export(EXPORT kiln-targets NAMESPACE kiln:: FILE "${CMAKE_CURRENT_BINARY_DIR}/kiln-targets.cmake")

configure_package_config_file(cmake/kiln-config.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/kiln-config.cmake"
                              INSTALL_DESTINATION "${package_dir}")
# Before 1.0 a minor version may break callers.
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/kiln-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/kiln-config.cmake" "${CMAKE_CURRENT_BINARY_DIR}/kiln-config-version.cmake"
        DESTINATION "${package_dir}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/kiln")
