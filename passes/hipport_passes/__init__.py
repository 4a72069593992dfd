# SPDX-License-Identifier: Apache-2.0
"""The passes, in the order they run, and why each stands where it stands."""

from functools import cache
from typing import Any

from hipport.engine.knowledge import Knowledge
from hipport.engine.pipeline import Pass
from hipport_passes.build_files import (
    build_options,
    cmake,
    cmake_settings,
    cpp_extension,
    hipify_reach,
    makefile,
    other_builds,
    shell_builds,
    stale_branches,
    wave_defines,
)
from hipport_passes.compatibility import (
    builtin_declarations,
    deduction_guides,
    definition_arguments,
    device_pointers,
    hipify_launches,
    host_constructors,
    host_math,
    kernel_arguments,
    literal_suffixes,
    memory_locations,
    min_max,
    narrowing,
    pragma_macros,
    register_keyword,
    rtc_texts,
    shared_min_max,
    template_keyword,
    unevaluated,
    variable_arrays,
    vector_members,
    vector_types,
)
from hipport_passes.deployment import containers, devcontainer, kubernetes, workflows
from hipport_passes.device import (
    arch_guards,
    atomics,
    barriers,
    compute_capability,
    cooperative_groups,
    device_functions,
    dynamic_parallelism,
    fp8_formats,
    half_types,
    hip_waves,
    inline_ptx,
    lane_masks,
    launch_bounds,
    launch_syntax,
    memory_order,
    miscompiled,
    mixed_waves,
    native_waves,
    shared_memory,
    simd_in_word,
    spin_locks,
    textures,
    warp_intrinsics,
    warp_size,
    warp_synchronous,
    wide_shifts,
    written_out_macros,
)
from hipport_passes.names import (
    api_names,
    backends,
    cub_thrust,
    header_macros,
    headers,
    helper_includes,
    loaded_libraries,
    math_names,
    member_names,
    merged_types,
    namespaces,
    nested_includes,
    pytorch_api,
    spaced_includes,
    unknown_names,
)
from hipport_passes.packages import lock_files, requirements, vendored
from hipport_passes.python import device_agnostic, device_strings, fp8_python, fp8_settings, lost_imports, python_gates

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
    # By what all files include now.
    nested_includes.PASS,
    # What no pass has replaced.
    unknown_names.PASS,
    # Of texts, which no pass renames.
    loaded_libraries.PASS,
    # Launches as they are at last, by the text that hipify will read.
    hipify_launches.PASS,
    # Last over C++: once a guard names HIP, what it guards looks as if it were ported.
    arch_guards.PASS,
    # By what C++ counts lanes by, once that is ported.
    wave_defines.PASS,
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
    # What a merge has left behind: in CMake's scripts by what they are now, in makefiles before it is ported.
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


@cache
def knowledge() -> Knowledge:
    """Return what builders and verifiers are given of what passes know."""
    from hipport_passes.build_files.nvcc_flags import translate
    from hipport_passes.names.headers.header_tables import is_of_hip
    from hipport_passes.packages.vendored import markers

    return Knowledge(BEFORE_EXECUTOR, markers(), lambda flags: translate(flags).kept, is_of_hip)
