# The target Sinter::LLVM: the archives of LLVM that SINTER_LLVM_ARCHIVES names, for the build and for programs that use an installed Sinter.
# Archives, not libLLVM.so: a program starts 15 ms sooner (the shared library has 350,000 relocations) and needs no LLVM where it is shipped.
# Not LLVM's own targets: they drag in a solver, an XML parser and their build settings.
if(TARGET Sinter::LLVM)
  return()
endif()
find_library(Sinter_LLVM_CORE NAMES LLVMCore HINTS ${LLVM_LIBRARY_DIRS} PATHS /usr/lib/llvm-19/lib)  # those of the LLVM whose headers are used
find_library(Sinter_ZSTD NAMES zstd)
if(NOT Sinter_LLVM_CORE OR NOT Sinter_ZSTD)
  message(FATAL_ERROR "[Sinter] needs LLVM 19's archives and libzstd (Debian: llvm-19-dev, libzstd-dev); install them or set Sinter_LLVM_CORE and Sinter_ZSTD, now '${Sinter_LLVM_CORE}' and '${Sinter_ZSTD}'")
endif()
get_filename_component(llvm_folder ${Sinter_LLVM_CORE} DIRECTORY)
list(TRANSFORM SINTER_LLVM_ARCHIVES PREPEND ${llvm_folder}/lib OUTPUT_VARIABLE llvm_archives)
list(TRANSFORM llvm_archives APPEND .a)
list(JOIN llvm_archives "," llvm_archives)
add_library(Sinter::LLVM INTERFACE IMPORTED GLOBAL)
set_property(TARGET Sinter::LLVM PROPERTY INTERFACE_LINK_LIBRARIES "$<LINK_GROUP:RESCAN,${llvm_archives}>" ${Sinter_ZSTD} ZLIB::ZLIB ${CMAKE_DL_LIBS})
set_property(TARGET Sinter::LLVM PROPERTY INTERFACE_LINK_OPTIONS -Wl,--gc-sections)  # a tenth of a program
