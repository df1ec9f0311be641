# Writes a header with a hash of all that the code generator's results depend on besides its input: the sources of ir/ and codegen/, and what they are
# compiled by. Machine code on disk is found again only by a generator with the same hash (codegen/key.h).
#   cmake -Dsource_folder=… -Dcompiled_by=… -Doutput=… -P CodeId.cmake
file(GLOB_RECURSE sources RELATIVE ${source_folder} ${source_folder}/ir/*.h ${source_folder}/ir/*.cpp ${source_folder}/codegen/*.h ${source_folder}/codegen/*.cpp)
list(SORT sources)
set(text "${compiled_by}")
foreach(source ${sources})
  file(SHA256 ${source_folder}/${source} hash)
  string(APPEND text "\n${source} ${hash}")
endforeach()
string(SHA256 id "${text}")
file(WRITE ${output} "// Made by cmake/CodeId.cmake.\n#pragma once\nnamespace sinter::codegen {\ninline constexpr const char* code_id = \"${id}\";\n}\n")
