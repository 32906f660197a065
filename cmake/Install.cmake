# cmake --install puts the library, its headers and a package config where find_package(Parallax) looks.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Parallax)

install(TARGETS px_headers EXPORT ParallaxTargets)
install(TARGETS parallax EXPORT ParallaxTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(PARALLAX_STATIC)
  install(TARGETS px_highway px_fmt EXPORT ParallaxTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY include/parallax DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET parallax_cli)
  install(DIRECTORY profiles DESTINATION ${CMAKE_INSTALL_DATADIR}/parallax)
  install(TARGETS parallax_cli parallax_delegate_conformance RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(EXPORT ParallaxTargets NAMESPACE Parallax:: DESTINATION ${package_dir})
configure_package_config_file(cmake/ParallaxConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/ParallaxConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/ParallaxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ParallaxConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/ParallaxConfigVersion.cmake
  DESTINATION ${package_dir})
