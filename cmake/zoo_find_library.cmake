# zoo_find_library(<name> <header> <library>...) defines zoo::<name> if header and libraries are
# installed. For libraries without a CMake package; their pkg-config files are no help: Debian 13's
# for sentencepiece requires a package that is not installed with it, and utf8proc's adds a macro
# that would part the library's precompiled header from the tests that share it.
function(zoo_find_library name header)
  if(TARGET zoo::${name})
    return()
  endif()
  find_path(ZOO_${name}_INCLUDE_DIR ${header})
  set(paths "${ZOO_${name}_INCLUDE_DIR}")
  foreach(library IN LISTS ARGN)
    find_library(ZOO_${library}_LIBRARY ${library})
    list(APPEND paths "${ZOO_${library}_LIBRARY}")
  endforeach()
  if(NOT paths MATCHES "NOTFOUND")
    list(POP_FRONT paths include_dir)
    add_library(zoo::${name} INTERFACE IMPORTED GLOBAL)
    target_include_directories(zoo::${name} INTERFACE "${include_dir}")
    target_link_libraries(zoo::${name} INTERFACE ${paths})
  endif()
endfunction()

# Debian's and Ubuntu's names of their packages, for messages.
set(ZOO_PACKAGE_OF_sentencepiece libsentencepiece-dev)
set(ZOO_PACKAGE_OF_utf8proc libutf8proc-dev)
set(ZOO_PACKAGE_OF_png libpng-dev)
set(ZOO_PACKAGE_OF_turbojpeg libturbojpeg0-dev)
set(ZOO_PACKAGE_OF_zlib zlib1g-dev)

function(zoo_find_system_libraries)
  zoo_find_library(sentencepiece sentencepiece_trainer.h sentencepiece_train sentencepiece)
  zoo_find_library(utf8proc utf8proc.h utf8proc)
  zoo_find_library(png png.h png)
  zoo_find_library(turbojpeg turbojpeg.h turbojpeg)
  zoo_find_library(zlib zlib.h z)
endfunction()
