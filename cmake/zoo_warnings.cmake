# The warnings of this project's own targets; nothing global is changed.
function(zoo_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wno-missing-field-initializers -Winvalid-pch -Werror=invalid-pch
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # wrong about std::string in GCC 12
    # File names in messages are relative: no path of the building machine ends up in a binary.
    "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=" "-fmacro-prefix-map=${ZOO_TORCH_FOLDER}/=")
  if(ZOO_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
