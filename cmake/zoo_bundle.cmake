# The target `bundle`: a folder with the command line and every library that it needs and a bare
# system lacks, which runs on any machine of the same kind whose C library is not older.
#
# Included by zoo_install.cmake it defines the target; as a script it makes the folder OUTPUT from
# the build tree BUILD, with libraries in LIBDIR.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  add_custom_target(bundle
    COMMAND "${CMAKE_COMMAND}" -D "BUILD=${PROJECT_BINARY_DIR}" -D "CONFIG=$<CONFIG>"
            -D "OUTPUT=${PROJECT_BINARY_DIR}/bundle" -D "LIBDIR=${CMAKE_INSTALL_LIBDIR}"
            -P "${CMAKE_CURRENT_LIST_FILE}"
    COMMENT "Bundling into ${PROJECT_BINARY_DIR}/bundle" VERBATIM)
  add_dependencies(bundle transformer-cli)
  return()
endif()

file(REMOVE_RECURSE "${OUTPUT}")
execute_process(
  COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --config "${CONFIG}" --component cli
          --prefix "${OUTPUT}" --strip
  OUTPUT_QUIET RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "installing ${BUILD} into ${OUTPUT} failed")
endif()
# The C library and its loader belong to the system; all else goes along. Of two libraries with one
# name, the one found first is the one that the binary loads.
file(GET_RUNTIME_DEPENDENCIES
  EXECUTABLES "${OUTPUT}/bin/transformer-cli"
  RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing
  CONFLICTING_DEPENDENCIES_PREFIX conflict
  PRE_EXCLUDE_REGEXES "^(ld-linux|libc\\.|libm\\.|libdl\\.|librt\\.|libpthread\\.|libresolv\\.|libcuda\\.)")
if(missing)
  message(FATAL_ERROR "not found, but needed by transformer-cli: ${missing}")
endif()
foreach(name IN LISTS conflict_FILENAMES)
  list(GET conflict_${name} 0 library)
  list(APPEND libraries "${library}")
endforeach()
file(COPY ${libraries} DESTINATION "${OUTPUT}/${LIBDIR}" FOLLOW_SYMLINK_CHAIN)
