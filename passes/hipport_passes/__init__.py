# SPDX-License-Identifier: Apache-2.0
"""The passes, in the order they run, and why each stands where it stands."""

from typing import Any

from hipport.pipeline import Pass
from hipport_passes import (
    api_names,
    arch_guards,
    atomics,
    backends,
    barriers,
    build_options,
    builtin_declarations,
    cmake,
    cmake_settings,
    compute_capability,
    containers,
    cooperative_groups,
    cpp_extension,
    cub_thrust,
    deduction_guides,
    definition_arguments,
    devcontainer,
    device_agnostic,
    device_functions,
    device_pointers,
    device_strings,
    dynamic_parallelism,
    fp8_formats,
    fp8_python,
    fp8_settings,
    half_types,
    header_macros,
    headers,
    helper_includes,
    hip_waves,
    hipify_launches,
    hipify_reach,
    host_constructors,
    host_math,
    inline_ptx,
    kernel_arguments,
    kubernetes,
    lane_masks,
    launch_bounds,
    launch_syntax,
    literal_suffixes,
    loaded_libraries,
    lock_files,
    lost_imports,
    makefile,
    math_names,
    member_names,
    memory_locations,
    memory_order,
    merged_types,
    min_max,
    miscompiled,
    mixed_waves,
    namespaces,
    narrowing,
    native_waves,
    nested_includes,
    other_builds,
    pragma_macros,
    python_gates,
    pytorch_api,
    register_keyword,
    requirements,
    rtc_texts,
    shared_memory,
    shared_min_max,
    shell_builds,
    simd_in_word,
    spaced_includes,
    spin_locks,
    stale_branches,
    template_keyword,
    textures,
    unevaluated,
    unknown_names,
    variable_arrays,
    vector_members,
    vector_types,
    vendored,
    warp_intrinsics,
    warp_size,
    warp_synchronous,
    wide_shifts,
    workflows,
    written_out_macros,
)

PASSES: tuple[Pass[Any], ...] = (
    # What is ported already, of which no other pass changes anything.
    backends.PASS,
    # Other tools, and the parser, see a launch only once its brackets are joined.
    launch_syntax.PASS,
    # Kernels that ask for the whole wavefront, before the others make theirs of 32 lanes.
    native_waves.PASS,
    # What an earlier run has taken away, before this one takes more.
    written_out_macros.PASS,
    # Before the names in what it writes are looked at, and while guards still name CUDA.
    inline_ptx.PASS,
    # By the names that intrinsics have in CUDA, before they get hipport's.
    lane_masks.PASS,
    # By the names of what counts bits.
    wide_shifts.PASS,
    # By the functions that CUDA has for the least of two numbers.
    miscompiled.PASS,
    # What hipport has helpers for, before `api_names` reports that HIP lacks it.
    warp_intrinsics.PASS,
    # Where the threads of a wavefront part, whatever what they do there is called.
    barriers.PASS,
    warp_synchronous.PASS,
    spin_locks.PASS,
    warp_size.PASS,
    memory_order.PASS,
    memory_locations.PASS,
    device_pointers.PASS,
    rtc_texts.PASS,
    simd_in_word.PASS,
    atomics.PASS,
    half_types.PASS,
    device_functions.PASS,
    register_keyword.PASS,
    builtin_declarations.PASS,
    pragma_macros.PASS,
    # Before the word is looked for that such a name seems to lack.
    definition_arguments.PASS,
    template_keyword.PASS,
    unevaluated.PASS,
    deduction_guides.PASS,
    narrowing.PASS,
    variable_arrays.PASS,
    host_constructors.PASS,
    host_math.PASS,
    math_names.PASS,
    min_max.PASS,
    vector_types.PASS,
    vector_members.PASS,
    # By the names that CUB has in CUDA.
    cub_thrust.PASS,
    # By CUDA's names or HIP's; they change no name.
    launch_bounds.PASS,
    shared_memory.PASS,
    dynamic_parallelism.PASS,
    textures.PASS,
    compute_capability.PASS,
    # By CUDA's names, which `api_names` leaves to it.
    fp8_formats.PASS,
    api_names.PASS,
    # Of structures by either name.
    member_names.PASS,
    # Of types by either name.
    merged_types.PASS,
    namespaces.PASS,
    # What it puts needs headers of PyTorch's, which `headers` does not know.
    pytorch_api.PASS,
    # Looks at calls by their HIP names.
    kernel_arguments.PASS,
    # Before `headers`, which drops what nothing uses.
    cooperative_groups.PASS,
    # Once groups, helpers and sizes are what they are to be, and while guards still name CUDA.
    mixed_waves.PASS,
    hip_waves.PASS,
    # By the names that all passes before have put.
    helper_includes.PASS,
    headers.PASS,
    # By the includes that are left.
    spaced_includes.PASS,
    literal_suffixes.PASS,
    shared_min_max.PASS,  # for hipify as well
    # By the headers of HIP that are included by then.
    header_macros.PASS,
    # By what all files include by now.
    nested_includes.PASS,
    # What no pass has replaced.
    unknown_names.PASS,
    # Of texts, which no pass renames.
    loaded_libraries.PASS,
    # Launches as they are at last, by the text that hipify will read.
    hipify_launches.PASS,
    # Last over C++: once a guard names HIP, what it guards looks as if it were ported.
    arch_guards.PASS,
    # Build scripts; what they already do for ROCm is read first, and `vendored` adds to that.
    cpp_extension.PASS,
    build_options.PASS,
    # What programs ask while they run; a package that it makes optional may be left out of lists.
    python_gates.PASS,
    # Lists of packages, in setup.py too, whose flags are ported by then.
    requirements.PASS,
    vendored.PASS,
    # Of includes that are ported; after `vendored`, which keeps others from hipify.
    hipify_reach.PASS,
    # The rest of Python: what programs name.
    device_strings.PASS,
    fp8_python.PASS,
    fp8_settings.PASS,
    # By the names that all passes before have put.
    lost_imports.PASS,
    # Only when asked to; once every device has its right name.
    device_agnostic.PASS,
    # Build scripts of other languages, which no other pass reads.
    cmake.PASS,
    # Of trees that have an option by then.
    cmake_settings.PASS,
    # What a merge has left behind: in CMake's scripts by what they are by now, in makefiles before it is ported.
    stale_branches.PASS,
    makefile.PASS,
    shell_builds.PASS,
    other_builds.PASS,
    # After the lists that they are made of.
    lock_files.PASS,
    # Where it all runs.
    containers.PASS,
    devcontainer.PASS,
    kubernetes.PASS,
    workflows.PASS,
)

#: What the executor has done to an original before its own passes: PTX becomes C++, and what PyTorch has dropped since,
#: for CUDA too, becomes what it stood for. Without that, most extensions of some years ago have no original to run.
BEFORE_EXECUTOR: tuple[Pass[Any], ...] = (inline_ptx.PASS, pytorch_api.PASS)
