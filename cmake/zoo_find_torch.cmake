# Where LibTorch lies. Functions only, so that scripts can run the search before anything is
# configured; then it prints the folder, or nothing where there is none:
#
#   cmake -P cmake/zoo_find_torch.cmake

# The releases this project is written for; an installed package narrows them to the one it was
# built with, since LibTorch's binary interface changes with every minor release.
if(NOT DEFINED ZOO_TORCH_OLDEST)
  set(ZOO_TORCH_OLDEST 2.5)
  set(ZOO_TORCH_NEWEST 2.15)
endif()

# The folder with include/ and lib/ that `path` stands for: that folder itself, what an unpacked
# archive or a Python environment holds, or the share/cmake/Torch folder inside. Empty if none.
function(zoo_torch_folder path result)
  string(REGEX REPLACE "/share/cmake(/Torch)?/?$" "" path "${path}")
  file(GLOB in_python LIST_DIRECTORIES true "${path}/lib/python3*/site-packages/torch")
  set(${result} "" PARENT_SCOPE)
  foreach(folder IN ITEMS "${path}" "${path}/libtorch" "${path}/torch" LISTS in_python)
    if(EXISTS "${folder}/include/torch/csrc/api/include/torch/torch.h")
      get_filename_component(folder "${folder}" ABSOLUTE)
      set(${result} "${folder}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# "2.13.0", read from the headers; empty if they do not say.
function(zoo_torch_version folder result)
  set(${result} "" PARENT_SCOPE)
  foreach(header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(EXISTS "${folder}/include/${header}")
      file(STRINGS "${folder}/include/${header}" lines
           REGEX "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
      string(REGEX MATCHALL " [0-9]+" numbers "${lines}")
      list(TRANSFORM numbers STRIP)
      list(LENGTH numbers count)
      if(count EQUAL 3)
        list(JOIN numbers "." version)
        set(${result} "${version}" PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

# Sets `result` to what is wrong with the release in `folder`; empty if it is supported.
function(zoo_torch_unsupported folder result)
  set(${result} "" PARENT_SCOPE)
  zoo_torch_version("${folder}" version)
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" minor "${version}")
  if(NOT minor)
    set(${result} "${folder}: LibTorch of an unknown version" PARENT_SCOPE)
  elseif(minor VERSION_LESS ZOO_TORCH_OLDEST OR minor VERSION_GREATER ZOO_TORCH_NEWEST)
    set(${result} "${folder}: LibTorch ${version}" PARENT_SCOPE)
  endif()
endfunction()

# The torch folder of the Python that answers to `python3` or `python`, found without importing it.
function(zoo_torch_of_python result)
  set(${result} "" PARENT_SCOPE)
  foreach(python python3 python)
    execute_process(
      COMMAND ${python} -c "import importlib.util as u; s = u.find_spec('torch'); print(s.origin if s and s.origin else '')"
      WORKING_DIRECTORY "${CMAKE_CURRENT_FUNCTION_LIST_DIR}"
      OUTPUT_VARIABLE origin OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed)
      if(origin)
        get_filename_component(folder "${origin}" DIRECTORY)
        zoo_torch_folder("${folder}" folder)
        set(${result} "${folder}" PARENT_SCOPE)
      endif()
      return()
    endif()
  endforeach()
endfunction()

# Sets `result` to LibTorch's folder, in this order: a path given (ZOO_TORCH, Torch_DIR or
# CMAKE_PREFIX_PATH, as variables of CMake or of the environment), KNOWN (the one found before), the
# active Python's, LAST. A given one that cannot be used is an error; the others are passed over, and
# `passed` tells of them. `result` is empty where there is none.
function(zoo_find_torch result passed)
  cmake_parse_arguments(ARG "" "KNOWN;LAST" "" ${ARGN})
  set(${result} "" PARENT_SCOPE)
  set(${passed} "" PARENT_SCOPE)
  set(remedy
      "supported are ${ZOO_TORCH_OLDEST} to ${ZOO_TORCH_NEWEST}. Give another: -DZOO_TORCH=FOLDER, an unpacked libtorch or a Python's site-packages/torch")

  foreach(name ZOO_TORCH Torch_DIR CMAKE_PREFIX_PATH)
    set(paths ${${name}})
    if(NOT paths)  # also Torch_DIR-NOTFOUND
      string(REPLACE ":" ";" paths "$ENV{${name}}")
    endif()
    foreach(path IN LISTS paths)
      zoo_torch_folder("${path}" folder)
      if(folder)
        zoo_torch_unsupported("${folder}" complaint)
        if(complaint)
          message(FATAL_ERROR "${complaint}, given by ${name}; ${remedy}.")
        endif()
        set(${result} "${folder}" PARENT_SCOPE)
        return()
      elseif(NOT name STREQUAL "CMAKE_PREFIX_PATH")
        message(FATAL_ERROR
          "${name}=${path} holds no LibTorch: there is no include/torch/csrc/api/include/torch/torch.h; ${remedy}.")
      endif()
    endforeach()
  endforeach()

  zoo_torch_of_python(python_torch)
  set(complaints "")
  foreach(path "${ARG_KNOWN}" "${python_torch}" "${ARG_LAST}")
    zoo_torch_folder("${path}" folder)
    if(path AND folder)
      zoo_torch_unsupported("${folder}" complaint)
      if(NOT complaint)
        set(${result} "${folder}" PARENT_SCOPE)
        return()
      endif()
      string(APPEND complaints "\n  passed over ${complaint}")
    endif()
  endforeach()
  set(${passed} "${complaints}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  zoo_find_torch(folder passed LAST "${CMAKE_CURRENT_LIST_DIR}/../.venv")
  if(passed)
    message(NOTICE "LibTorch:${passed}")
  endif()
  execute_process(COMMAND "${CMAKE_COMMAND}" -E echo "${folder}")
endif()
