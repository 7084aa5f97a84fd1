# Tests of the search for LibTorch, on folders that look like one: WORK is an empty folder to use.
set(script "${CMAKE_CURRENT_LIST_DIR}/../../cmake/zoo_find_torch.cmake")
file(REMOVE_RECURSE "${WORK}")

function(make_torch folder version)
  string(REPLACE "." ";" numbers "${version}")
  list(GET numbers 0 major)
  list(GET numbers 1 minor)
  file(WRITE "${folder}/include/torch/csrc/api/include/torch/torch.h" "")
  file(WRITE "${folder}/include/torch/csrc/api/include/torch/version.h"
       "#define TORCH_VERSION_MAJOR ${major}\n#define TORCH_VERSION_MINOR ${minor}\n#define TORCH_VERSION_PATCH 1\n")
endfunction()

# A `python3` in front of all others, whose torch lies in `origin`; empty: it has none.
function(make_python origin)
  file(WRITE "${WORK}/bin/python3" "#!/bin/sh\nprintf '%s\\n' '${origin}'\n")
  file(CHMOD "${WORK}/bin/python3" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

# expect(<folder> VARIABLE=value...): what the search prints in that environment
function(search)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env --unset=ZOO_TORCH --unset=Torch_DIR --unset=CMAKE_PREFIX_PATH
            "PATH=${WORK}/bin:$ENV{PATH}" ${ARGN} "${CMAKE_COMMAND}" -P "${WORK}/cmake/zoo_find_torch.cmake"
    OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE error RESULT_VARIABLE code)
  string(REGEX REPLACE "[ \n]+" " " error "${error}")
  set(output "${output}" PARENT_SCOPE)
  set(error "${error}" PARENT_SCOPE)
  set(code "${code}" PARENT_SCOPE)
endfunction()
function(expect folder)
  search(${ARGN})
  if(NOT code EQUAL 0 OR NOT output STREQUAL folder)
    message(SEND_ERROR "with ${ARGN}: found '${output}', expected '${folder}'\n${error}")
  endif()
endfunction()
function(expect_error text)
  search(${ARGN})
  string(FIND "${error}" "${text}" position)
  if(code EQUAL 0 OR position EQUAL -1)
    message(SEND_ERROR "with ${ARGN}: expected the error '${text}', got ${code}: ${error}")
  endif()
endfunction()

file(COPY "${script}" DESTINATION "${WORK}/cmake")  # so that .venv is this test's
make_torch("${WORK}/given torch" 2.13)
make_torch("${WORK}/unpacked/libtorch" 2.5)
make_torch("${WORK}/environment/lib/python3.11/site-packages/torch" 2.15)
make_torch("${WORK}/active/torch" 2.7)
make_torch("${WORK}/old" 2.4)
make_torch("${WORK}/new" 2.16)

# A path given, in each form.
make_python("${WORK}/active/torch/__init__.py")
expect("${WORK}/given torch" "ZOO_TORCH=${WORK}/given torch")
expect("${WORK}/unpacked/libtorch" "ZOO_TORCH=${WORK}/unpacked")
expect("${WORK}/given torch" "Torch_DIR=${WORK}/given torch/share/cmake/Torch")
expect("${WORK}/given torch" "CMAKE_PREFIX_PATH=/nothing:${WORK}/given torch/share/cmake")
expect("${WORK}/environment/lib/python3.11/site-packages/torch" "ZOO_TORCH=${WORK}/environment")
expect("${WORK}/unpacked/libtorch" "ZOO_TORCH=${WORK}/unpacked" "Torch_DIR=${WORK}/given torch")

# Then the active Python's, then .venv; CMAKE_PREFIX_PATH may be given for other reasons.
expect("${WORK}/active/torch" "CMAKE_PREFIX_PATH=/nothing")
make_python("")
expect("")
make_torch("${WORK}/.venv/lib/python3.12/site-packages/torch" 2.13)
expect("${WORK}/.venv/lib/python3.12/site-packages/torch")

# Refusals.
expect_error("ZOO_TORCH=${WORK}/nothing holds no LibTorch" "ZOO_TORCH=${WORK}/nothing")
expect_error("old: LibTorch 2.4.1, given by ZOO_TORCH; supported are 2.5 to 2.15" "ZOO_TORCH=${WORK}/old")
expect_error("new: LibTorch 2.16.1, given by CMAKE_PREFIX_PATH; supported are 2.5 to 2.15"
             "CMAKE_PREFIX_PATH=${WORK}/new")
make_python("${WORK}/old/__init__.py")
expect("${WORK}/.venv/lib/python3.12/site-packages/torch")
file(REMOVE_RECURSE "${WORK}/.venv")
search()
if(NOT error MATCHES "passed over ${WORK}/old: LibTorch 2.4.1")
  message(SEND_ERROR "an old LibTorch of the active Python was not reported: ${error}")
endif()
