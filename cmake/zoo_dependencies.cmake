# The other libraries: the system's packages, or, where one is missing, its source at a pinned
# release. When all are installed, nothing is downloaded.
include(FetchContent)
include(zoo_find_library)

# A macro, so that the variables set before it reach the fetched project.
macro(zoo_fetch name repository tag)
  message(STATUS "${name} is not installed: fetching ${tag} (or install its development package)")
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # options below are plain variables there
  FetchContent_Declare(${name} GIT_REPOSITORY "https://github.com/${repository}" GIT_TAG ${tag}
                       GIT_SHALLOW ON)
  FetchContent_MakeAvailable(${name})
endmacro()

find_package(nlohmann_json 3.10 QUIET)
if(NOT nlohmann_json_FOUND)
  set(JSON_Install ON)
  zoo_fetch(nlohmann_json nlohmann/json v3.12.0)
endif()

zoo_find_system_libraries()
if(NOT TARGET zoo::sentencepiece)
  set(SPM_ENABLE_SHARED OFF)
  set(SPM_ENABLE_TCMALLOC OFF)
  zoo_fetch(sentencepiece google/sentencepiece v0.2.1)
  add_library(zoo::sentencepiece INTERFACE IMPORTED GLOBAL)
  target_include_directories(zoo::sentencepiece INTERFACE "${sentencepiece_SOURCE_DIR}/src")
  target_link_libraries(zoo::sentencepiece INTERFACE sentencepiece_train-static sentencepiece-static)
  # It brings its own protobuf; kept to itself, it cannot take the place of LibTorch's.
  if(UNIX AND NOT APPLE)
    target_link_options(zoo::sentencepiece INTERFACE
      "LINKER:--exclude-libs,libsentencepiece.a:libsentencepiece_train.a")
  endif()
endif()

if(NOT TARGET zoo::utf8proc)
  set(UTF8PROC_ENABLE_TESTING OFF)
  zoo_fetch(utf8proc JuliaStrings/utf8proc v2.10.0)
  # A macro for Windows alone would part the precompiled header from the tests that share it.
  set_target_properties(utf8proc PROPERTIES INTERFACE_COMPILE_DEFINITIONS "")
  add_library(zoo::utf8proc INTERFACE IMPORTED GLOBAL)
  target_link_libraries(zoo::utf8proc INTERFACE utf8proc)
endif()

# Decoders of pictures, which every system has, and of which libjpeg-turbo cannot be built as a part of
# another project.
foreach(name IN ITEMS png turbojpeg zlib)
  if(NOT TARGET zoo::${name})
    message(FATAL_ERROR "${name} is not installed: install its development package "
                        "(${ZOO_PACKAGE_OF_${name}} on Debian and Ubuntu)")
  endif()
endforeach()

if(ZOO_BUILD_CLI)
  find_package(CLI11 2.1 QUIET)
  if(NOT CLI11_FOUND)
    zoo_fetch(CLI11 CLIUtils/CLI11 v2.5.0)
  endif()
endif()

if(ZOO_BUILD_TESTS)
  find_package(GTest 1.11 QUIET)
  if(NOT GTest_FOUND)
    set(INSTALL_GTEST OFF)
    zoo_fetch(googletest google/googletest v1.17.0)
  endif()
endif()
