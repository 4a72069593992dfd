# SPDX-License-Identifier: Apache-2.0
# Put here by hipport. Chooses between HIP and CUDA: with -DUSE_HIP=OFF all is as it was before the port.
option(USE_HIP "Build for AMD GPUs with HIP; OFF: for NVIDIA GPUs with CUDA" ON)

if(NOT USE_HIP)
  set(HIP_OR_CUDA CUDA)
  return()
endif()
set(HIP_OR_CUDA HIP)
set(HIPPORT_FOLDER "${CMAKE_CURRENT_LIST_DIR}")

if(CMAKE_VERSION VERSION_LESS 3.21)
  message(FATAL_ERROR "CMake has HIP as a language since 3.21; this is ${CMAKE_VERSION}")
endif()
set(CMAKE_HIP_ARCHITECTURES "@ARCHS@" CACHE STRING "AMD GPUs to build for")
# Where ROCm's packages are, for find_package.
if(DEFINED ENV{ROCM_PATH})
  list(APPEND CMAKE_PREFIX_PATH "$ENV{ROCM_PATH}")
endif()
list(APPEND CMAKE_PREFIX_PATH /opt/rocm)

# Take a target's .cu files for HIP, but for those whose language is set.
function(hipport_sources target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  # Those in generator expressions, too.
  string(REGEX MATCHALL "[^:;<>,$]+\\.cu[;>]" sources "${sources};")
  foreach(source IN LISTS sources)
    string(REGEX REPLACE "[;>]$" "" source "${source}")
    if(source)
      get_filename_component(source "${source}" ABSOLUTE BASE_DIR "${folder}")
      get_source_file_property(language "${source}" TARGET_DIRECTORY ${target} LANGUAGE)
      if(NOT language OR language STREQUAL "CUDA")
        set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES LANGUAGE HIP)
      endif()
    endif()
  endforeach()
endfunction()

# Make the targets of a folder, and of those below it, ones of HIP.
function(hipport_folder folder)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT "HIP" IN_LIST languages)
    return()
  endif()
  get_property(alone GLOBAL PROPERTY hipport_find_cuda)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    # HIP's headers ask for it; its own compiler sets it.
    set_property(TARGET ${target} APPEND PROPERTY
      COMPILE_DEFINITIONS $<$<COMPILE_LANGUAGE:C,CXX>:__HIP_PLATFORM_AMD__=1>)
    if(COMMAND hipport_torch_sources)
      hipport_torch_sources(${target})
    endif()
    if(NOT alone)
      hipport_sources(${target})
    endif()
  endforeach()
  get_property(folders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    hipport_folder("${below}")
  endforeach()
endfunction()

# Once all targets are known.
cmake_language(DEFER CALL hipport_folder "${CMAKE_CURRENT_SOURCE_DIR}")
