# LibTorch as the target zoo::torch.
#
# LibTorch's own find_package(Torch) is not used: that of a CUDA build demands the CUDA toolkit,
# which neither compiling nor linking needs, and it changes global flags.
include("${CMAKE_CURRENT_LIST_DIR}/zoo_find_torch.cmake")

# Defines zoo::torch from the headers and libraries in `folder`.
function(zoo_import_torch folder)
  add_library(zoo::torch INTERFACE IMPORTED GLOBAL)
  set_target_properties(zoo::torch PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
    "${folder}/include;${folder}/include/torch/csrc/api/include")
  # The _cuda twins register the CUDA operators; a CPU build has none of them.
  foreach(name torch_cpu c10 torch_cuda c10_cuda)
    find_library(library ${name} NO_CACHE NO_DEFAULT_PATH
                 PATHS "${folder}/lib" "${folder}/lib64" "${folder}/lib/${CMAKE_LIBRARY_ARCHITECTURE}")
    if(library)
      add_library(zoo::${name} SHARED IMPORTED GLOBAL)
      set_target_properties(zoo::${name} PROPERTIES IMPORTED_LOCATION "${library}")
      target_link_libraries(zoo::torch INTERFACE zoo::${name})
    elseif(NOT name MATCHES "_cuda$")
      message(FATAL_ERROR
        "${folder}/lib has no shared library ${name}: this LibTorch is incomplete or static. "
        "Give a complete one: -DZOO_TORCH=FOLDER.")
    endif()
    unset(library)
  endforeach()
  if(TARGET zoo::torch_cuda)
    # No symbol of it is used here, so a linker that drops unused libraries would drop it.
    target_link_options(zoo::torch INTERFACE "LINKER:--no-as-needed")
  elseif(NOT APPLE)
    # A program that uses no tensors, starts without loading LibTorch.
    target_link_options(zoo::torch INTERFACE "LINKER:--as-needed")
  endif()
  # LibTorch's own OpenMP runtime, if it carries one: our kernels must share its threads, since two
  # runtimes in one process fight over the cores.
  file(GLOB openmp "${folder}/lib/libgomp*.so*")
  if(openmp)
    list(GET openmp 0 openmp)
    add_library(zoo::torch_openmp SHARED IMPORTED GLOBAL)
    set_target_properties(zoo::torch_openmp PROPERTIES IMPORTED_LOCATION "${openmp}")
    target_link_libraries(zoo::torch INTERFACE zoo::torch_openmp)
  endif()
  # Releases up to 2.7 say here which std::string they were compiled with; later ones have the
  # compiler's default.
  set(config "${folder}/share/cmake/Torch/TorchConfig.cmake")
  if(EXISTS "${config}")
    file(STRINGS "${config}" flags REGEX "set\\(TORCH_CXX_FLAGS .*_GLIBCXX_USE_CXX11_ABI=[01]")
    if(flags MATCHES "_GLIBCXX_USE_CXX11_ABI=[01]")
      target_compile_definitions(zoo::torch INTERFACE ${CMAKE_MATCH_0})
    endif()
  endif()
endfunction()

# Sets `result` to whether a small program compiles, with `definitions`, and links.
function(zoo_torch_links result log definitions)
  try_compile(works "${CMAKE_CURRENT_BINARY_DIR}/zoo_torch_check"
              "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/zoo_torch_check.cpp"
              COMPILE_DEFINITIONS ${definitions} LINK_LIBRARIES zoo::torch
              CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON OUTPUT_VARIABLE output)
  set(${result} ${works} PARENT_SCOPE)
  set(${log} "${output}" PARENT_SCOPE)
  unset(works CACHE)  # so that it is tried again once something has changed
endfunction()

# A LibTorch that does not fit this compiler, processor or system is told in one sentence here and
# not in pages of undefined symbols later.
function(zoo_check_torch folder version)
  if(ZOO_TORCH_CHECKED STREQUAL "${folder} ${version}")
    return()
  endif()
  set(old_strings FALSE)
  get_target_property(definitions zoo::torch INTERFACE_COMPILE_DEFINITIONS)
  if(definitions MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
    set(old_strings TRUE)
  else()
    zoo_torch_links(links log "")
    if(links)
      set(ZOO_TORCH_CHECKED "${folder} ${version}" CACHE INTERNAL "the LibTorch that links")
      return()
    endif()
    zoo_torch_links(old_strings unused "-D_GLIBCXX_USE_CXX11_ABI=0")
  endif()
  if(old_strings)
    message(FATAL_ERROR
      "LibTorch ${version} in ${folder} was compiled with the std::string from before C++11 "
      "(_GLIBCXX_USE_CXX11_ABI=0), which no other library of this system uses: take the archive "
      "named 'cxx11 ABI', or a Python wheel of 2.7 or later.")
  else()
    string(SUBSTRING "${log}" 0 2000 log)
    message(FATAL_ERROR
      "LibTorch ${version} in ${folder} does not compile and link with ${CMAKE_CXX_COMPILER_ID} "
      "${CMAKE_CXX_COMPILER_VERSION}: give another (-DZOO_TORCH=FOLDER) or another compiler "
      "(-DCMAKE_CXX_COMPILER=...). It began to say:\n${log}")
  endif()
endfunction()

if(NOT TARGET zoo::torch)
  # ZOO_TORCH_FOLDER is kept, so that a later configuration, perhaps from a shell with another
  # Python, stays with what was found first.
  zoo_find_torch(folder passed
                 KNOWN "${ZOO_TORCH_FOLDER}" LAST "${CMAKE_CURRENT_LIST_DIR}/../.venv")
  if(NOT folder)
    message(FATAL_ERROR
      "LibTorch was not found: neither ZOO_TORCH, Torch_DIR nor CMAKE_PREFIX_PATH leads to one, "
      "nor does the active Python have torch.${passed}\n"
      "Give one of ${ZOO_TORCH_OLDEST} to ${ZOO_TORCH_NEWEST}: -DZOO_TORCH=FOLDER, an unpacked "
      "libtorch or a Python's site-packages/torch; or let ./check fetch one.")
  endif()
  zoo_torch_version("${folder}" version)
  set(ZOO_TORCH_FOLDER "${folder}" CACHE INTERNAL "LibTorch's folder")
  set(ZOO_TORCH_VERSION "${version}" CACHE INTERNAL "LibTorch's version")
  zoo_import_torch("${folder}")
  zoo_check_torch("${folder}" "${version}")
  message(STATUS "LibTorch ${version}: ${folder}")
endif()
