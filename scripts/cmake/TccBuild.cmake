# Compiler settings, and the functions every folder declares its libraries with.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Assertions state bugs of ours and stay on in every build type: they are cheap beside the work they guard.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_C_FLAGS_RELEASE "-O2")

include(GNUInstallDirs)
find_program(TCC_CCACHE ccache)
if(TCC_CCACHE)
  # Clang's precompiled headers hit in ccache only with -fno-pch-timestamp and these two sloppiness settings.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${TCC_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${TCC_CCACHE}")
endif()
add_link_options(-fuse-ld=lld)

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(TCC_WERROR)
  add_compile_options(-Werror)
endif()
if(TCC_SANITIZE)
  add_compile_options(-fsanitize=${TCC_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TCC_SANITIZE})
endif()
if(TCC_BUILD_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Python fetches wheels and runs test helpers; scripts/build passes the one with the wheels of scripts/requirements.txt.
find_program(TCC_PYTHON NAMES python3 DOC "Python with the wheels of scripts/requirements.txt" REQUIRED)

find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/llvm)
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# tcc_library(NAME SOURCES ... DEPENDS ...): a static library whose headers are included from the source root.
function(tcc_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
endfunction()

# What every library that includes MLIR needs. The shared libMLIR and libLLVM start in about 25 ms; static linking of the
# same code costs minutes of link time and hundreds of megabytes.
add_library(tcc_mlir INTERFACE)
target_include_directories(tcc_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_link_libraries(tcc_mlir INTERFACE MLIR LLVM)
target_compile_options(tcc_mlir INTERFACE -Wno-unused-parameter -Wno-deprecated-declarations)

# tcc_use_mlir_pch(TARGET): MLIR's core headers cost 4 s of CPU in each translation unit without it.
function(tcc_use_mlir_pch target)
  target_precompile_headers(${target} PRIVATE "${PROJECT_SOURCE_DIR}/ir/Pch.h")
  target_compile_options(${target} PRIVATE -Xclang -fno-pch-timestamp)
endfunction()
