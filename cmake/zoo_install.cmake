# `cmake --install`: the library, its headers and its CMake package, and the command line with the
# configs. A project then writes
#   find_package(transformer_zoo REQUIRED)
#   target_link_libraries(app PRIVATE zoo::zoo)
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/transformer_zoo")

set_target_properties(transformer_zoo PROPERTIES EXPORT_NAME zoo)
install(TARGETS transformer_zoo EXPORT transformer_zoo
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library)
foreach(folder IN LISTS ZOO_LIBRARY_FOLDERS)
  install(DIRECTORY "${folder}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/transformer_zoo"
          COMPONENT library FILES_MATCHING PATTERN "*.h")
endforeach()

install(EXPORT transformer_zoo NAMESPACE zoo:: FILE transformer_zooTargets.cmake
        DESTINATION "${package_dir}" COMPONENT library)
string(REGEX MATCH "^[0-9]+\\.[0-9]+" ZOO_TORCH_MINOR "${ZOO_TORCH_VERSION}")
configure_package_config_file(cmake/transformer_zooConfig.cmake.in transformer_zooConfig.cmake
                              INSTALL_DESTINATION "${package_dir}"
                              NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(transformer_zooConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/transformer_zooConfig.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/transformer_zooConfigVersion.cmake"
              cmake/zoo_find_torch.cmake cmake/zoo_torch.cmake cmake/zoo_torch_check.cpp
              cmake/zoo_find_library.cmake
        DESTINATION "${package_dir}" COMPONENT library)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT library)

if(TARGET transformer-cli)
  # Libraries beside the binary come first (so that an installed tree, or a bundle, can carry its
  # own), then those it was linked with. LibTorch's is named, because CMake leaves out what lies in
  # the project's folder, and .venv does.
  get_target_property(torch_library zoo::torch_cpu IMPORTED_LOCATION)
  get_filename_component(torch_library_folder "${torch_library}" DIRECTORY)
  set_target_properties(transformer-cli PROPERTIES
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${torch_library_folder}"
    INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS transformer-cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT cli)
  install(DIRECTORY configs DESTINATION "${CMAKE_INSTALL_DATADIR}/transformer_zoo" COMPONENT cli)
  include(zoo_bundle)
endif()
