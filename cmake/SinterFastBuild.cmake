# Headers that most sources of a target read are compiled once, and several of its sources as one file (CMake's UNITY_BUILD), which takes little more
# than half of the time. The preset debug builds without: sources include what they use, and each compiles alone.
option(SINTER_FAST_BUILD "Precompile headers and compile several sources as one file" ON)

# sinter_fast_build(target folder [other]): the target reads the headers of <folder>/precompiled.h; as compiled for another target of the same flags, if
# that is given. A source that shares its names with others of its folder says so with SKIP_UNITY_BUILD_INCLUSION.
function(sinter_fast_build target folder)
  if(NOT SINTER_FAST_BUILD)
    return()
  endif()
  sinter_unity(${target})
  # GCC 12 forgets that precompiled headers are the system's, and warns of what std::string does once it is inlined.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>)
  if(ARGC GREATER 2)
    target_precompile_headers(${target} REUSE_FROM ${ARGV2})
  else()
    target_precompile_headers(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/${folder}/precompiled.h>)
  endif()
endfunction()

# sinter_unity(target): several sources as one file, without precompiled headers.
function(sinter_unity target)
  if(SINTER_FAST_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # To GCC, types of an anonymous namespace are in a header then.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()
