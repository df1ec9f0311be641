# Installs the public headers below include/sinter. In the tree they include each other as "ir/graph.h"; installed, as "sinter/ir/graph.h",
# so that they never meet a header of the program that uses them. Reads source_folder, staging_folder and include_folder.
set(public_headers sinter/*.h ir/*.h passes/pipeline.h codegen/compile.h codegen/instrument/sabotage.h runtime/*.h frontend/*.h)
file(REMOVE_RECURSE ${staging_folder})
foreach(pattern ${public_headers})
  file(GLOB_RECURSE headers RELATIVE ${source_folder} ${source_folder}/${pattern})
  foreach(header ${headers})
    # The interpreter's kernels, Eigen under another name, and what the build precompiles.
    if(header MATCHES "^(runtime/isa/|frontend/linalg/eigen.h)|/precompiled.h$")
      continue()
    endif()
    file(READ ${source_folder}/${header} text)
    string(REGEX REPLACE "#include \"((ir|passes|codegen|runtime|frontend)/[^\"]+)\"" "#include \"sinter/\\1\"" text "${text}")
    string(REGEX REPLACE "^sinter/" "" target ${header})
    file(WRITE ${staging_folder}/sinter/${target} "${text}")
  endforeach()
endforeach()
file(INSTALL ${staging_folder}/sinter DESTINATION ${CMAKE_INSTALL_PREFIX}/${include_folder})
