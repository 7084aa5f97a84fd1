# Defines zoo::<module> from the system's package with that pkg-config module, if it is installed.
function(zoo_pkg_config module)
  if(TARGET zoo::${module})
    return()
  endif()
  find_package(PkgConfig QUIET)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(ZOO_${module} QUIET IMPORTED_TARGET GLOBAL ${module})
    if(ZOO_${module}_FOUND)
      # A macro of theirs (utf8proc's UTF8PROC_EXPORTS) would part the library's precompiled header
      # from the tests that share it; the header needs none of them.
      set_target_properties(PkgConfig::ZOO_${module} PROPERTIES INTERFACE_COMPILE_OPTIONS "")
      add_library(zoo::${module} INTERFACE IMPORTED GLOBAL)
      target_link_libraries(zoo::${module} INTERFACE PkgConfig::ZOO_${module})
    endif()
  endif()
endfunction()
