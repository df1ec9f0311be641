# Adds the Protobuf messages of .sinter files to the target sinter_runtime: `include(file/protobuf.cmake)` after sinter_room(runtime ...).
find_package(Protobuf REQUIRED)

set(sinter_generated ${PROJECT_BINARY_DIR}/generated)
set(sinter_messages ${sinter_generated}/runtime/file/sinter.pb.cc ${sinter_generated}/runtime/file/sinter.pb.h)
file(MAKE_DIRECTORY ${sinter_generated}/runtime/file)
add_custom_command(
  OUTPUT ${sinter_messages}
  COMMAND protobuf::protoc --cpp_out=${sinter_generated} --proto_path=${PROJECT_SOURCE_DIR} runtime/file/sinter.proto
  DEPENDS ${PROJECT_SOURCE_DIR}/runtime/file/sinter.proto
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
  VERBATIM)
set_source_files_properties(${sinter_generated}/runtime/file/sinter.pb.cc PROPERTIES COMPILE_OPTIONS -w)
target_sources(sinter_runtime PRIVATE ${sinter_messages})
target_include_directories(sinter_runtime SYSTEM PRIVATE ${sinter_generated})
target_link_libraries(sinter_runtime PRIVATE protobuf::libprotobuf)
set_property(GLOBAL APPEND PROPERTY SINTER_SYSTEM_LIBRARIES protobuf::libprotobuf)
