# SPDX-License-Identifier: Apache-2.0
"""The passes in the order in which they run, with the reasons for their places."""

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
    vector_initializers,
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
    compute_types,
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
    # First, because no other pass changes code that is ported already.
    backends.PASS,
    # Other tools and the parser recognize a launch only once its brackets are joined.
    launch_syntax.PASS,
    # Kernels that ask for the whole wavefront, before other passes divide it into warps of 32 lanes.
    native_waves.PASS,
    # Macros that an earlier run replaced, before this run replaces more.
    written_out_macros.PASS,
    # Before the passes that judge names in the code it writes, and while guards still name CUDA.
    inline_ptx.PASS,
    # Knows CUB by CUDA's names. Before the passes that judge code by its functions of 32 lanes: CUB's become hipport's.
    cub_thrust.PASS,
    # Knows intrinsics by CUDA's names, so it runs before they are renamed.
    lane_masks.PASS,
    # Knows by CUDA's names the functions that count bits.
    wide_shifts.PASS,
    # Knows CUDA's functions for a minimum.
    miscompiled.PASS,
    # Provides helpers, before `api_names` reports their functions as lacking in HIP.
    warp_intrinsics.PASS,
    # For code where lanes diverge, whatever names it uses.
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
    # Before `template_keyword`, because such a name seems to lack the keyword.
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
    # Lists without designators, as `vector_members` leaves them.
    vector_initializers.PASS,
    # These know both CUDA's and HIP's names, and change none.
    launch_bounds.PASS,
    shared_memory.PASS,
    dynamic_parallelism.PASS,
    textures.PASS,
    compute_capability.PASS,
    # Knows CUDA's names, which `api_names` leaves alone.
    fp8_formats.PASS,
    api_names.PASS,
    # Knows calls by their HIP names.
    compute_types.PASS,
    # Members of structures, under CUDA's or HIP's names.
    member_names.PASS,
    # Types under CUDA's or HIP's names.
    merged_types.PASS,
    namespaces.PASS,
    # Its replacements need headers of PyTorch that `headers` does not know.
    pytorch_api.PASS,
    # Knows calls by their HIP names.
    kernel_arguments.PASS,
    # Before `headers`, which drops unused includes.
    cooperative_groups.PASS,
    # After groups, helpers and sizes are ported, and while guards still name CUDA.
    mixed_waves.PASS,
    hip_waves.PASS,
    # These need the names that all earlier passes wrote.
    helper_includes.PASS,
    headers.PASS,
    # Judges the remaining includes.
    spaced_includes.PASS,
    literal_suffixes.PASS,
    shared_min_max.PASS,  # Also needed for hipify.
    # Needs to know which headers of HIP are included.
    header_macros.PASS,
    # Needs the final includes of all files.
    nested_includes.PASS,
    # Reports the names that no pass has replaced.
    unknown_names.PASS,
    # Names in strings, which no pass renames.
    loaded_libraries.PASS,
    # Needs launches in their final form, which hipify will read.
    hipify_launches.PASS,
    # Last of the passes over C++: code in a guard that names HIP looks as if it were ported.
    arch_guards.PASS,
    # Judges build scripts by how the ported C++ counts lanes.
    wave_defines.PASS,
    # Build scripts. What they already do for ROCm is read first; `vendored` adds to it.
    cpp_extension.PASS,
    build_options.PASS,
    # Checks at run time; a package that they make optional may be left out of requirements.
    python_gates.PASS,
    # Lists of packages, also in setup.py, whose flags are ported by now.
    requirements.PASS,
    vendored.PASS,
    # Needs ported includes; runs after `vendored`, which excludes other files from hipify.
    hipify_reach.PASS,
    # The rest of Python: names in programs.
    device_strings.PASS,
    fp8_python.PASS,
    fp8_settings.PASS,
    # Needs the names that all earlier passes wrote.
    lost_imports.PASS,
    # Only on request, and once every device has its right name.
    device_agnostic.PASS,
    # Build scripts in other languages, which no other pass reads.
    cmake.PASS,
    # For trees that have the option USE_HIP by now.
    cmake_settings.PASS,
    # What a merge left behind: CMake scripts are compared once they are ported, makefiles before.
    stale_branches.PASS,
    makefile.PASS,
    shell_builds.PASS,
    other_builds.PASS,
    # After the lists from which lock files are generated.
    lock_files.PASS,
    # Where the programs run.
    containers.PASS,
    devcontainer.PASS,
    kubernetes.PASS,
    workflows.PASS,
)

#: Passes that prepare an original for the executor, before the executor's own passes. PTX becomes C++, and names that
#: PyTorch has since dropped, for CUDA too, become their replacements. Without that, most extensions that are some years
#: old have no original that can run.
BEFORE_EXECUTOR: tuple[Pass[Any], ...] = (inline_ptx.PASS, pytorch_api.PASS)


@cache
def knowledge() -> Knowledge:
    """Return the parts of the passes' knowledge that builders and verifiers need."""
    from hipport_passes.build_files.nvcc_flags import translate
    from hipport_passes.names.headers.header_tables import is_of_hip
    from hipport_passes.packages.vendored import markers

    return Knowledge(BEFORE_EXECUTOR, markers(), lambda flags: translate(flags).kept, is_of_hip)
