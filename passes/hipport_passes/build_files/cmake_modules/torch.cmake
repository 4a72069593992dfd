# SPDX-License-Identifier: Apache-2.0
# Put here by hipport. With HIP, has PyTorch's own converter put its names for ROCm (c10/hip, ATen/hip) for those for
# CUDA in the sources of targets that are linked with PyTorch, as its builds of extensions do: into files beside them.
# -DPython3_EXECUTABLE=… says which Python has that PyTorch.
if(COMMAND hipport_torch_sources)
  return()
endif()
find_package(hip REQUIRED)
set_property(GLOBAL PROPERTY hipport_torch_include "${hip_INCLUDE_DIRS}")
foreach(name Python3_EXECUTABLE Python_EXECUTABLE PYTHON_EXECUTABLE)
  if(${name} AND NOT hipport_python)
    set(hipport_python "${${name}}")
  endif()
endforeach()
if(NOT hipport_python)
  find_program(hipport_python NAMES python3 python REQUIRED)
endif()
# The converter needs nothing else of PyTorch, which would take seconds to load.
set(hipport_find "import importlib.util, os, sys
utils = os.path.join(os.path.dirname(importlib.util.find_spec('torch').origin), 'utils')
sys.path.insert(0, utils)
from hipify.hipify_python import hipify
sys.path.remove(utils)")
execute_process(COMMAND "${hipport_python}" -c "${hipport_find}" RESULT_VARIABLE hipport_failed OUTPUT_QUIET ERROR_QUIET)
if(hipport_failed)
  message(FATAL_ERROR "${hipport_python} has no PyTorch, whose converter is needed: -DPython3_EXECUTABLE=… says which has")
endif()
set_property(GLOBAL PROPERTY hipport_torch_python "${hipport_python}")
set_property(GLOBAL PROPERTY hipport_torch_find "${hipport_find}")

# Gets a folder, sources and, behind --, folders of headers. Prints a line for each source: what it became.
set_property(GLOBAL PROPERTY hipport_torch_convert [==[
import contextlib, os, re, sys
root, rest = sys.argv[1], sys.argv[2:]
sources, folders = rest[:rest.index("--")], rest[rest.index("--") + 1:]
names = re.compile(rb"\b(?:ATen|c10|torch/csrc)/(?:native/)?cuda/|\b(?:at|c10|torch)::cuda\b")
def asks(path):
    with open(path, "rb") as file:
        return names.search(file.read()) is not None
inside = [each for each in folders if os.path.isdir(each) and os.path.commonpath([root, each]) == root]
headers = {os.path.join(at, each)
           for folder in inside for at, _, files in os.walk(folder) for each in files
           if each.endswith((".h", ".hpp", ".cuh")) and asks(os.path.join(at, each))}
with contextlib.redirect_stdout(sys.stderr):
    said = hipify(project_directory=root, output_directory=root, header_include_dirs=inside,
                  is_pytorch_extension=True, includes=[os.path.join(root, "*")], extra_files=[*sorted(headers), *sources], show_progress=False,
                  hipify_extra_files_only=True)
refused = [path for path, each in said.items() if each and "no permissions" in each.status]
if refused:
    sys.exit("it may not write beside " + ", ".join(refused))
for source in sources:
    result = said.get(os.path.abspath(source))
    print((result and result.hipified_path) or source)
]==])

# Say in `result` whether what a target is linked with has PyTorch in it, through targets of these scripts too.
function(hipport_has_torch target result)
  set(${result} FALSE PARENT_SCOPE)
  get_property(seen GLOBAL PROPERTY hipport_torch_seen)
  if(target IN_LIST seen)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY hipport_torch_seen ${target})
  get_target_property(kind ${target} TYPE)
  set(linked "")
  foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
    if(NOT (kind STREQUAL "INTERFACE_LIBRARY" AND property STREQUAL "LINK_LIBRARIES"))
      get_target_property(names ${target} ${property})
      if(names)
        list(APPEND linked ${names})
      endif()
    endif()
  endforeach()
  foreach(name IN LISTS linked)
    if(name MATCHES "(^|[/:])(lib)?(torch|c10)(_[a-z]+)?([.]so|[.]a|$)")
      set(${result} TRUE PARENT_SCOPE)
      return()
    endif()
    if(TARGET "${name}")
      hipport_has_torch("${name}" found)
      if(found)
        set(${result} TRUE PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

# Put the converted sources in the place of a target's, if it is linked with PyTorch.
function(hipport_torch_sources target)
  set_property(GLOBAL PROPERTY hipport_torch_seen "")
  hipport_has_torch(${target} found)
  get_target_property(sources ${target} SOURCES)
  get_target_property(kind ${target} TYPE)
  if(NOT found OR NOT sources OR kind STREQUAL "INTERFACE_LIBRARY")
    return()
  endif()
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(include ${target} INCLUDE_DIRECTORIES)
  if(NOT include)
    set(include "")
  endif()
  list(FILTER include EXCLUDE REGEX "[$]<")
  set(before "")
  set(others "")
  foreach(source IN LISTS sources)
    if(source MATCHES "^[^$]*[.](cu|cc|cpp|cxx|c)$")
      get_filename_component(source "${source}" ABSOLUTE BASE_DIR "${folder}")
      list(APPEND before "${source}")
    else()
      list(APPEND others "${source}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES before)
  get_property(python GLOBAL PROPERTY hipport_torch_python)
  get_property(find GLOBAL PROPERTY hipport_torch_find)
  get_property(convert GLOBAL PROPERTY hipport_torch_convert)
  execute_process(COMMAND "${python}" -c "${find}\n${convert}" "${CMAKE_SOURCE_DIR}" ${before} -- ${folder} ${include}
                  OUTPUT_VARIABLE after ERROR_VARIABLE said RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "\n" ";" after "${after}")
  list(LENGTH before count)
  list(LENGTH after converted)
  if(failed OR NOT count EQUAL converted)
    message(FATAL_ERROR "PyTorch's converter failed for the sources of ${target}: ${said}")
  endif()
  foreach(source new IN ZIP_LISTS before after)
    if(NOT source STREQUAL new)
      foreach(property COMPILE_OPTIONS COMPILE_FLAGS COMPILE_DEFINITIONS INCLUDE_DIRECTORIES)
        get_source_file_property(value "${source}" TARGET_DIRECTORY ${target} ${property})
        if(value)
          set_source_files_properties("${new}" TARGET_DIRECTORY ${target} PROPERTIES ${property} "${value}")
        endif()
      endforeach()
      # What is converted anew when it changes.
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    endif()
  endforeach()
  set_property(TARGET ${target} PROPERTY SOURCES ${after} ${others})
  # What PyTorch's builds of extensions define for ROCm.
  set_property(TARGET ${target} APPEND PROPERTY COMPILE_DEFINITIONS $<$<COMPILE_LANGUAGE:CXX,HIP>:USE_ROCM=1>
    $<$<COMPILE_LANGUAGE:CXX,HIP>:HIPBLAS_V2> $<$<COMPILE_LANGUAGE:HIP>:CUDA_HAS_FP16=1>
    $<$<COMPILE_LANGUAGE:HIP>:__HIP_NO_HALF_OPERATORS__=1> $<$<COMPILE_LANGUAGE:HIP>:__HIP_NO_HALF_CONVERSIONS__=1>
    $<$<COMPILE_LANGUAGE:HIP>:HIP_ENABLE_WARP_SYNC_BUILTINS=1>)
  get_property(hip GLOBAL PROPERTY hipport_torch_include)
  set_property(TARGET ${target} APPEND PROPERTY INCLUDE_DIRECTORIES ${hip})
endfunction()
