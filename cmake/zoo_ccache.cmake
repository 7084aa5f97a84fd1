# Use ccache where it is installed: with the slackness that a precompiled header needs, and with
# paths taken relative to this tree, so that another clone of it finds the same entries.
find_program(ZOO_CCACHE ccache)
if(ZOO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      "${ZOO_CCACHE}")
endif()
