# The library `sinter` (alias Sinter::sinter): all rooms in one archive, and its CMake package.
include(CheckLinkerFlag)
foreach(option now pack-relative-relocs)  # LLVM has 150,000 relocations: packed, and all done at the start, a program starts a millisecond or two sooner
  check_linker_flag(CXX -Wl,-z,${option} sinter_linker_has_${option})
endforeach()

# sinter_archive(NAME ROOMS... LIBRARIES...): these rooms in one static library. A program that uses it links the libraries, too, but sees none of their
# headers.
function(sinter_archive name)
  cmake_parse_arguments(arg "" "" "ROOMS;LIBRARIES" ${ARGN})
  add_library(${name} STATIC)
  foreach(room ${arg_ROOMS})
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${room}>)
  endforeach()
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_options(${name} INTERFACE -Wl,--as-needed)  # a program that reads no images does not load libpng
  foreach(option now pack-relative-relocs)
    if(sinter_linker_has_${option})
      target_link_options(${name} INTERFACE -Wl,-z,${option})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES arg_LIBRARIES)
  foreach(library ${arg_LIBRARIES})
    if(IS_ABSOLUTE "${library}")  # a file of this machine: elsewhere, the linker finds it by its name
      get_filename_component(file ${library} NAME_WE)
      string(REGEX REPLACE "^lib" "" file ${file})
      target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:${library}> $<INSTALL_INTERFACE:${file}>)
    else()
      target_link_libraries(${name} PRIVATE ${library})
    endif()
  endforeach()
endfunction()

# Rooms append themselves to SINTER_ROOMS, and what they link to SINTER_SYSTEM_LIBRARIES.
get_property(rooms GLOBAL PROPERTY SINTER_ROOMS)
get_property(system_libraries GLOBAL PROPERTY SINTER_SYSTEM_LIBRARIES)
sinter_archive(sinter ROOMS ${rooms} LIBRARIES ${system_libraries})
add_library(Sinter::sinter ALIAS sinter)
if(SINTER_JIT AND SINTER_TESTS)  # what a build without the code generator has, for its tests
  list(TRANSFORM rooms REPLACE "^sinter_codegen$" sinter_codegen_absent)
  list(REMOVE_ITEM system_libraries Sinter::LLVM)
  sinter_archive(sinter_nojit ROOMS ${rooms} LIBRARIES ${system_libraries})
endif()

get_property(SINTER_LLVM_ARCHIVES GLOBAL PROPERTY SINTER_LLVM_ARCHIVES)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Sinter)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/SinterConfig.cmake.in ${PROJECT_BINARY_DIR}/SinterConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SinterConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(TARGETS sinter EXPORT SinterTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT SinterTargets NAMESPACE Sinter:: DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/SinterConfig.cmake ${PROJECT_BINARY_DIR}/SinterConfigVersion.cmake ${CMAKE_CURRENT_LIST_DIR}/SinterLLVM.cmake DESTINATION ${package_folder})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(CODE "set(source_folder \"${PROJECT_SOURCE_DIR}\")\nset(staging_folder \"${PROJECT_BINARY_DIR}/installed_headers\")\nset(include_folder \"${CMAKE_INSTALL_INCLUDEDIR}\")")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/InstallHeaders.cmake)
