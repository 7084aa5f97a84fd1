# The warnings of this project's own targets; nothing global is changed.
function(zoo_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Winvalid-pch -Werror=invalid-pch)
  if(ZOO_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
