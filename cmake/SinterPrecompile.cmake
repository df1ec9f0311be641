# Headers that most sources of a target read, compiled once. Sources include what they use all the same: the preset debug builds without.
option(SINTER_PRECOMPILE "Precompile headers that most sources read" ON)

# sinter_precompile(target folder): the headers of <folder>/precompiled.h for all sources of the target; as compiled for another target of the same
# flags, if that is given.
function(sinter_precompile target folder)
  if(NOT SINTER_PRECOMPILE)
    return()
  endif()
  # GCC 12 forgets that precompiled headers are the system's, and warns of what std::string does once it is inlined.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>)
  if(ARGC GREATER 2)
    target_precompile_headers(${target} REUSE_FROM ${ARGV2})
  else()
    target_precompile_headers(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/${folder}/precompiled.h>)
  endif()
endfunction()
