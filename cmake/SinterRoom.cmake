# A library that one room finds is linked into the archive that holds all of them (SinterPackage.cmake).
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)

# Warnings that GCC 12 gives falsely from -O3 on, in std::string and on loops over a Shape's dimensions (GCC PR 105329, 105651).
set(sinter_false_warnings $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow>)

# sinter_room(NAME [dependency targets...]): the object library sinter_NAME of all sources below this folder.
# A new file is picked up by the next build; nothing is listed by hand.
function(sinter_room name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/(isa|absent)/")  # see runtime/CMakeLists.txt and codegen/absent
  add_library(sinter_${name} OBJECT ${sources})
  target_include_directories(sinter_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(sinter_${name} PRIVATE -Wall -Wextra -Werror ${sinter_false_warnings})
  target_link_libraries(sinter_${name} PUBLIC ${ARGN})
  set(precompiled ir)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/precompiled.h)
    set(precompiled ${name})
  endif()
  sinter_fast_build(sinter_${name} ${precompiled})
  set_property(GLOBAL APPEND PROPERTY SINTER_ROOMS sinter_${name})
endfunction()
