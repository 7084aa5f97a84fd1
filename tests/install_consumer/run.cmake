# Installs the build tree `PROJECT_BINARY_DIR`, then builds and runs the consumer beside this file
# with what was installed; the folder's name has a space.
set(work "${PROJECT_BINARY_DIR}/tests/install consumer")
file(REMOVE_RECURSE "${work}")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    list(JOIN ARGN " " command)
    message(NOTICE "${output}")
    message(FATAL_ERROR "failed: ${command}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# Moved after the installation: the package must not depend on where it was installed.
foreach(component library cli)
  if(component STREQUAL "library" OR EXISTS "${PROJECT_BINARY_DIR}/transformer-cli")
    run("${CMAKE_COMMAND}" --install "${PROJECT_BINARY_DIR}" --config ${CONFIG}
        --component ${component} --prefix "${work}/first place")
  endif()
endforeach()
file(RENAME "${work}/first place" "${work}/installed")

foreach(file lib/cmake/transformer_zoo/transformer_zooTargets.cmake
             lib/cmake/transformer_zoo/transformer_zooTargets-release.cmake)
  if(EXISTS "${work}/installed/${file}")
    file(STRINGS "${work}/installed/${file}" lines)
    if(lines MATCHES "${PROJECT_BINARY_DIR}|cmake_pch")
      message(FATAL_ERROR "${file} names the build tree:\n${lines}")
    endif()
  endif()
endforeach()

run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/consumer" -B "${work}/build" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_PREFIX_PATH=${work}/installed"
    "-DEXPECTED_VERSION=${VERSION}" "-DREADME=${SOURCE}/README.md")
run("${CMAKE_COMMAND}" --build "${work}/build")
run("${work}/build/consumer")
# V d + n d + L (12 d^2 + 2 d) + d, without biases: 65, 64, 4 layers, width 128.
if(NOT output STREQUAL "804096 parameters\n")
  message(FATAL_ERROR "the consumer printed: ${output}")
endif()

# The example names a folder of weights/ of the project.
execute_process(COMMAND "${work}/build/readme" WORKING_DIRECTORY "${SOURCE}"
                RESULT_VARIABLE failed OUTPUT_VARIABLE output)
if(failed OR output STREQUAL "")
  message(FATAL_ERROR "the README's example ended with ${failed} and printed: ${output}")
endif()

if(EXISTS "${work}/installed/bin/transformer-cli")
  run("${work}/installed/bin/transformer-cli" --version)
  message(STATUS "installed command line: ${output}")
endif()
file(REMOVE_RECURSE "${work}")
