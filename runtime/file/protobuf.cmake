# Adds the Protobuf messages of .sinter and event files to the target sinter_runtime: `include(file/protobuf.cmake)` after sinter_room(runtime ...).
find_package(Protobuf REQUIRED)

set(sinter_generated ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${sinter_generated}/runtime/file)
foreach(messages sinter events)
  set(sinter_messages ${sinter_generated}/runtime/file/${messages}.pb.cc ${sinter_generated}/runtime/file/${messages}.pb.h)
  add_custom_command(
    OUTPUT ${sinter_messages}
    COMMAND protobuf::protoc --cpp_out=${sinter_generated} --proto_path=${PROJECT_SOURCE_DIR} runtime/file/${messages}.proto
    DEPENDS ${PROJECT_SOURCE_DIR}/runtime/file/${messages}.proto
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    VERBATIM)
  set_source_files_properties(${sinter_generated}/runtime/file/${messages}.pb.cc PROPERTIES COMPILE_OPTIONS -w)
  target_sources(sinter_runtime PRIVATE ${sinter_messages})
endforeach()
target_include_directories(sinter_runtime SYSTEM PRIVATE ${sinter_generated})
target_link_libraries(sinter_runtime PRIVATE protobuf::libprotobuf)
set_property(GLOBAL APPEND PROPERTY SINTER_SYSTEM_LIBRARIES protobuf::libprotobuf)
