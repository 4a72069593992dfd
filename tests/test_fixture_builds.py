# SPDX-License-Identifier: Apache-2.0
"""The ported fixtures compile, for every wavefront size and with old and new HIP, and never trap by themselves.

All passes run over each fixture, and hipcc generates device code for the result: warnings are errors, including a
64-bit mask that is narrowed to 32 bits. All fixtures are compiled together, each in its own namespace, which is ten
times as fast; those that use traps are separate. Each is also compiled alone once, so that none depends on another
one's includes.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import TypeVar
from zlib import crc32

import pytest

import compiled
import hipport
from further import further
from hipport.core.finding import Certainty
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda import Cuda
from hipport.testing import Fixture, fixtures
from hipport.toolchain.toolchains import Toolchain, find
from hipport_passes import PASSES

_Name = TypeVar("_Name", str, Path)
ROOT = Path(__file__).parent.parent
INCLUDE = ROOT / "src/hipport/include"
SYNC_BUILTINS = "-DHIP_ENABLE_WARP_SYNC_BUILTINS"
OLD, NEW = (5, 2), (6, 4)
#: HIP release, flags, architecture: each release and each flag with both wavefront sizes, and each architecture.
CONFIGURATIONS = [
    *((OLD, (), arch) for arch in ("gfx90a", "gfx1030")),
    *((NEW, (), arch) for arch in ("gfx90a", "gfx1201")),
    *((NEW, (SYNC_BUILTINS,), arch) for arch in ("gfx942", "gfx1100")),
]
#: Configurations with code generation, which takes twice as long: of each release, and where HIP's own functions trap.
WITH_CODE = (CONFIGURATIONS[0], *CONFIGURATIONS[4:])
#: Configurations that repeat others with a further architecture: the last two cover code for each wavefront size, the
#: second the older release, and each fixture alone is compiled with the newer one without the flag.
FURTHER = (CONFIGURATIONS[0], *CONFIGURATIONS[2:4])

#: The folders of AMD's algorithms, which are templates.
ALGORITHMS = ("hipcub/", "rocprim/", "thrust/")

#: Fixtures that cannot be compiled, with reasons.
NOT_COMPILED: dict[str, str] = {
    **dict.fromkeys(
        """
        api_names/argument_counts api_names/assumptions api_names/gone api_names/libraries api_names/local_names
        api_names/names api_names/of_another_call api_names/own_names api_names/shims api_names/stand_ins
        api_names/unsupported headers/blas headers/blas_plain headers/transitive headers/transitive_look_alike
        namespaces/renamed
        """.split(),
        "a list of names, which no compiler could make sense of; tests/test_tables.py compiles each name",
    ),
    **dict.fromkeys(
        """
        api_names/pytorch arch_guards/build_macros_of_pytorch arch_guards/told atomics/host_memory_in_parts
        atomics/host_memory_in_parts_look_alikes atomics/overload_of_another_type
        compute_capability/followed compute_capability/followed_look_alikes fp8_formats/chosen fp8_formats/fnuz
        headers/of_tensors_in_c headers/thc hip_waves/size_of_pytorch hip_waves/size_of_pytorch_look_alikes
        host_math/calls
        lane_masks/size_of_pytorch_by_namespace lane_masks/size_of_pytorch_for_both
        lane_masks/size_of_pytorch_look_alikes lane_masks/torch_handed_on lane_masks/torch_sizes_alone
        lane_masks/votes_of_cub
        math_names/extension math_names/older mixed_waves/sizes namespaces/look_alikes
        warp_size/beside_own_members
        """.split(),
        "PyTorch's headers are not here; tests/test_packages.py compiles such sources",
    ),
    **dict.fromkeys(
        """
        pytorch_api/dispatch pytorch_api/dispatch_look_alikes pytorch_api/macros pytorch_api/macros_of_another_program
        pytorch_api/header_under_a_condition pytorch_api/headers_lost pytorch_api/headers_lost_look_alikes
        pytorch_api/macros_own pytorch_api/members pytorch_api/own_type pytorch_api/thc pytorch_api/thc_state
        pytorch_api/thc_unsupported pytorch_api/in_c pytorch_api/c_without_tensors
        """.split(),
        "PyTorch's headers are not here; tests/test_pytorch_api.py compiles what becomes of each row of its table",
    ),
    **dict.fromkeys(
        """
        arch_guards/chosen_asked arch_guards/headers_differ
        headers/chosen_no_header_of_hip headers/cstdint headers/families headers/in_toolkit
        headers/folders headers/look_alikes headers/no_headers headers/of_nvidia
        headers/other_folders headers/other_folders_look_alikes
        headers/samples_lacking headers/unsupported spaced_includes/alone spaced_includes/field
        """.split(),
        "it includes what is nowhere, on purpose",
    ),
    "api_names/in_c": "it is C",
    "api_names/as_values_in_c": "it is C",
    "kernel_arguments/symbols_in_c": "it is C",
    "api_names/guards": "it has functions that nothing calls, of which compilers warn",
    **dict.fromkeys(
        """
        api_names/compared_by_hand api_names/parameters_in_hip namespaces/lacking unknown_names/device_functions
        unknown_names/libraries
        """.split(),
        "what it has is left to a person, as HIP has nothing for it",
    ),
    "device_pointers/of_hip": "it calculates with void*, as g++ does and clang does not",
    "api_names/as_values": "hipMallocHost, of which HIP says that it goes; no other function has its parameters",
    "kernel_arguments/constants_and_types": "texture references, of which HIP says that they go",
    "namespaces/types": "std::swap is for devices from C++20 on, which it is told",
    **dict.fromkeys(
        """
        atomics/members_by_reference atomics/members_of_numbers backends/look_alikes backends/mapped
        helper_includes/look_alikes helper_includes/lost math_names/hidden_from_hip math_names/hidden_from_nvcc
        math_names/seen_by_host mixed_waves/helper_in_a_header
        mixed_waves/member_in_a_header
        """.split(),
        "the files beside it are not here",
    ),
    "compute_types/values": "what is left by hand does not compile",
    **dict.fromkeys(
        ("compute_types/types_of_data", "compute_types/look_alikes", "api_names/products_in_float"),
        "they are compiled alone, below",
    ),
    "api_names/changed_signatures": "what is left by hand does not compile",
    "cooperative_groups/wide_on_amd": "what is left by hand does not compile: it has tiles of 64 lanes",
    "hip_waves/tiles": "it has tiles of 64 lanes, which a wavefront of 32 does not have",
    "api_names/clusters": "what is left by hand does not compile",
    "device_pointers/keys": "it has variables that nothing uses, of which compilers warn",
    "device_pointers/numbers": "it has variables that nothing uses, of which compilers warn",
    "hip_waves/removed": "it asks for __AMDGCN_WAVEFRONT_SIZE, of which newer compilers warn",
    "mixed_waves/groups": "its own branch for AMD calls __activemask, which not every HIP has",
    "mixed_waves/look_alikes": "it counts a ballot of 32 lanes with __popc, of which these tests warn",
    "nested_includes/in_a_namespace": "the files beside it are not here",
    "nested_includes/look_alikes": "the files beside it are not here",
    "headers/own_hip_macro": "its own macro, which its build defines for HIP, chooses HIP's headers",
    "headers/chosen_own_header": "its own macro, which its build defines for HIP, chooses a header that is nowhere",
    "headers/default_stream": "it defines a macro for a header, which all fixtures share here",
    "headers/default_stream_in_header": "it defines a macro for a header, which all fixtures share here",
    "headers/macro_first": "it defines a macro for a header, which all fixtures share here",
    "header_macros/own_macros": "it defines macros in front of a header, which all fixtures share here",
    "arch_guards/chosen": "it shows conditions, not what they guard",
    "arch_guards/chosen_together": "it defines macros that other fixtures have, which all share here",
    "arch_guards/odd": "it is no C++, on purpose",
    "arch_guards/stand_ins": "it defines one name in several ways",
    "api_names/in_macros": "it shows macros, with no header in front of what they name",
    "headers/named_by_macros": "it includes what is nowhere, on purpose",
    "warp_size/own_wavefronts_shared": "it shows what is reported: warpSize where a constant has to stand",
    "headers/groups_unused": "it shows includes, not what uses them",
    "headers/groups_used": "it shows includes, not what uses them",
    "cub_thrust/lanes_by_hand": "what is left by hand does not compile",
    "api_names/in_namespaces_used": "what is left by hand does not compile",
    "kernel_arguments/by_hand": "what is left by hand does not compile",
    "launch_syntax/by_hand": "what is left by hand does not compile",
    "launch_syntax/look_alikes": "it is no C++, on purpose",
    "unknown_names/names": "what is left by hand does not compile",
    "unknown_names/look_alikes": "it names what is nowhere, on purpose",
    "unknown_names/other_accelerator": "it is for another vendor's compiler",
    "compute_capability/handed_on": "it includes what is nowhere, on purpose",
    "compute_capability/handed_on_look_alikes": "it calls what is nowhere, on purpose",
    "unknown_names/spaces": "it names what is nowhere, on purpose",
    "unknown_names/spaces_look_alikes": "it names what is nowhere, on purpose",
    "hipify_launches/stream": "PyTorch's headers are not here",
    "cooperative_groups/absent_in_macros": "clusters and split barriers are not on AMD",
    "cooperative_groups/absent": "clusters, tiles of several warps and split barriers are not on AMD",
    "dynamic_parallelism/launches": "kernels cannot launch kernels on AMD",
    "inline_ptx/carry_through_calls": "the PTX in it stays",
    "inline_ptx/pasted_keyword": "the PTX in it stays",
    "inline_ptx/perhaps_taken": "it stays closed where arch_guards has not run, and some of the PTX in it stays",
    "inline_ptx/refused": "the PTX in it stays",
    "inline_ptx/refused_in_macros": "the PTX in it stays",
    "inline_ptx/several_definitions": "some of the PTX in it stays",
    "inline_ptx/unreadable": "the PTX in it stays",
    "inline_ptx/written_out_whole": "some of the PTX in it stays",
    "inline_ptx/written_out": "some of the PTX in it stays",
    "inline_ptx/unknown_in_kernels": "the PTX in it stays",
    "arch_guards/missing": "what is left by hand does not compile",
    "merged_types/defined_twice": "what is left by hand does not compile",
    "member_names/initialized": "what is left by hand does not compile",
    "member_names/lacking": "what is left by hand does not compile",
    "memory_locations/pools": "what is left by hand does not compile",
    "namespaces/unknown_names": "what is left by hand does not compile",
    "namespaces/std_by_name_missing": "what is left by hand does not compile",
    "namespaces/whole": "what is left by hand does not compile",
    "namespaces/whole_of_another": "it includes what is nowhere, on purpose",
    "namespaces/whole_ported": "the files beside it are not here",
    "atomics/wide": "what is left by hand does not compile",
    "warp_intrinsics/pasted_in_parts": "what is left by hand does not compile",
    "memory_locations/pools_ported": "what is left by hand does not compile",
    "lane_masks/own_branches": "it asks for __AMDGCN_WAVEFRONT_SIZE, of which newer compilers warn",
    "variable_arrays/cleared": "it has arrays of variable length, of which these tests warn",
    "variable_arrays/look_alikes": "it has an array of variable length, of which these tests warn",
    "variable_arrays/others": "what is left by hand does not compile",
    "written_out_macros/nowhere": "what is left by hand does not compile",
    "written_out_macros/used_again": "what is left by hand does not compile",
    "narrowing/members": "it cuts a size to 32 bits, of which these tests warn",
    "unevaluated/concepts": "it needs C++20; tests/test_unevaluated.py compiles it",
    "unevaluated/host_in_device_code": "what is left by hand does not compile",
    "atomics/host_memory_followed": "it leaves what HIP's functions return, of which these tests warn",
    "atomics/host_memory_look_alikes": "it leaves what HIP's functions return, of which these tests warn",
    "compute_capability/on_any_device": "it leaves what HIP's functions return, of which these tests warn",
    "compute_capability/missing_code": "it leaves what HIP's functions return, of which these tests warn",
    "fp8_formats/in_another_format": "it shows what traps on gfx942",
    "textures/fetches": "gfx942 has no texture units, which is what it shows",
    "textures/surfaces": "gfx942 has no texture units, and what is left by hand does not compile",
}
#: Fixtures that cannot be compiled with HIP 5.2, with reasons.
NOT_WITH_OLD: dict[str, str] = {
    "mixed_waves/sizes_by_name": "the cooperative groups of HIP 5.2 name dimensions that it does not declare",
    "api_names/of_enumerations": "there is no hipBLAS beside HIP 5.2",
    "vector_initializers/complex": "its header brings operators there, beside those that other fixtures have",
    "headers/asked_for": "there is neither hipBLAS nor hipCUB beside HIP 5.2",
    "headers/brought": "there is no hipCUB beside HIP 5.2",
    "headers/colliding": "there is no hipCUB beside HIP 5.2",
    "headers/colliding_look_alikes": "there is no hipCUB beside HIP 5.2",
    "headers/brought_by_cublas": "there is no hipBLAS beside HIP 5.2",
    "headers/brought_by_cub": "there is no hipCUB beside HIP 5.2",
    "headers/brought_if_asked": "there is no hipBLAS beside HIP 5.2",
    "headers/brought_if_there": "there is no hipBLAS beside HIP 5.2",
    "headers/brought_under_a_condition": "there is no hipBLAS beside HIP 5.2",
    "headers/brought_under_conditions_look_alikes": "there is no hipBLAS beside HIP 5.2",
    "headers/brought_from_a_condition": "the linker of hipRTC is in later releases",
    "headers/brought_linker": "the linker of hipRTC is in later releases",
    "headers/brought_look_alike": "there is no hipCUB beside HIP 5.2",
    "cub_thrust/apart": "there is no hipCUB beside HIP 5.2",
    "cub_thrust/lanes": "there is no hipCUB beside HIP 5.2",
    "cub_thrust/lanes_not_qualified": "there is no hipCUB beside HIP 5.2",
    "cub_thrust/look_alikes": "there is no hipCUB beside HIP 5.2",
    "cub_thrust/spaces": "there is no hipCUB beside HIP 5.2",
    "cub_thrust/sums": "there is no hipCUB beside HIP 5.2",
    "cub_thrust/transposed": "there is no hipCUB beside HIP 5.2",
    "cub_thrust/sizes_of_warps": "there is no hipCUB beside HIP 5.2",
    "cub_thrust/versions": "there is no hipCUB beside HIP 5.2",
    "cub_thrust/widths": "there is no hipCUB beside HIP 5.2",
    "headers/brought_by_its_replacement": "HIP 5.2 has no hip_math_constants.h",
    "headers/brought_by_nvcc": "HIP 5.2 has no hip_math_constants.h",
    "headers/math_constants": "HIP 5.2 has no hip_math_constants.h",
    "host_constructors/look_alikes": "there is no hipCUB beside HIP 5.2",
    "host_constructors/segments": "there is no hipCUB beside HIP 5.2",
    "namespaces/decomposer": "there is no hipCUB beside HIP 5.2",
    "atomics/bfloats": "HIP 5.2 has no hip_bf16.h",
    "half_types/bfloat16_too": "HIP 5.2 has no hip_bf16.h",
    "fp8_formats/bytes_of_types": "HIP 5.2 has no hip_fp8.h",
    "fp8_formats/computed": "HIP 5.2 has no hip_fp8.h",
    "fp8_formats/computed_look_alikes": "HIP 5.2 has no hip_fp8.h",
    "half_types/casts": "HIP 5.2 has no hip_bf16.h",
    "headers/early": "there is no rocThrust beside HIP 5.2",
    "warp_size/votes_of_cub": "there is no hipCUB beside HIP 5.2",
    "headers/mapped": "it includes libraries, which are not beside HIP 5.2",
    "namespaces/ported": "there is no hipCUB beside HIP 5.2",
    "lane_masks/own_platform_macro": "there is no hipCUB beside HIP 5.2",
    "member_names/device_properties": "HIP 5.2 has no such member",
}

CASES: dict[str, Fixture] = {
    str(case): case
    for each in PASSES
    if issubclass(each.language, Cpp)
    for case in fixtures(ROOT / "fixtures" / each.name)
    if isinstance(case.before, Cpp) and str(case) not in NOT_COMPILED
}


@cache
def toolchain(hip: tuple[int, int]) -> Toolchain:
    for found in find(os.environ, Path(sys.executable)):
        if found.hip[:2] == hip:
            return found
    pytest.skip(f"NOT CHECKED with a real compiler: no hipcc of HIP {hip[0]}.{hip[1]} (hipport toolchain install)")


@cache
def ported(fixture: Fixture) -> bytes:
    """Return the fixture after all passes."""
    path = fixture.before.path.name
    result = hipport.rewrite({path: fixture.before.text}, accept=Certainty.REVIEW)
    return next(source.text for source in result.project.sources if source.path.name == path)


def asked_for(text: bytes) -> bool:
    """Return whether the program itself uses a trap."""
    return re.search(rb"trap|assert|abort|brkpt", text) is not None


def included(text: bytes) -> frozenset[str]:
    """Return the includes of the program."""
    return frozenset(include.path for include in Cuda(Path("case.cu"), text).includes)


def unit_of(texts: Mapping[str, bytes], folder: Path) -> Path:
    """Write one translation unit of the texts into `folder`."""
    outside: list[str] = []
    lines: list[str] = []
    for name, text in texts.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "case.cu").write_bytes(text)
        source = Cuda(Path(name), text)
        if len(texts) > 1:
            outside += [
                f"#include <{include.path}>"
                for include in source.includes
                if not within(include.directive.start, source.conditional) and (include.angled or "/" in include.path)
            ]
            lines.append(f"namespace case_{re.sub(r'[^0-9A-Za-z]', '_', name)} {{")
        lines.append(f'#include "{name}/case.cu"')
        if len(texts) > 1:
            lines.append("}")
            lines += [f"#undef {macro.decode()}" for macro in re.findall(rb"#[ \t]*define[ \t]+(\w+)", source.code)]
    unit = folder / "unit.cu"
    unit.write_text("\n".join([*dict.fromkeys(outside), *lines, ""]))
    return unit


def complaint(
    hip: tuple[int, int],
    flags: Sequence[str | Path],
    arch: str,
    units: Sequence[Path],
    running: Callable[[Sequence[str]], subprocess.CompletedProcess[str]] | None = None,
) -> str:
    """Compile device code of the units; return hipcc's messages, or empty. `running` runs it, if it has to be run."""
    chosen = toolchain(hip)
    command = [
        *(chosen.hipcc, "-x", "hip", "--cuda-device-only", "-std=c++17", f"--offload-arch={arch}", *flags),
        *("-Wall", "-Wshorten-64-to-32", "-Werror", "-Wno-unused-command-line-argument", "-I", INCLUDE, *units),
    ]
    done = compiled.run(command, env=chosen.environment(os.environ), running=running)
    return (done.stdout + done.stderr).partition("failed to execute")[0] if done.returncode else ""


def compile_device(
    hip: tuple[int, int],
    flags: tuple[str, ...],
    arch: str,
    texts: Mapping[str, bytes],
    folder: Path,
    *,
    code: bool = True,
) -> str:
    """Compile the texts as one device translation unit; return the compiler's messages, or empty.

    Traps in the assembly of texts that use none are reported too. Without `code`, only the syntax is checked.
    """
    unit, assembly = unit_of(texts, folder), folder / "unit.s"
    said = complaint(hip, [*flags, *(("-O1", "-S", "-o", assembly) if code else ("-fsyntax-only",))], arch, [unit])
    if said:
        return said.replace(f"{folder}/", "")
    if code and "s_trap" in assembly.read_text() and not any(map(asked_for, texts.values())):
        return "s_trap in the code of a program that does not ask for it"
    return ""


def in_parts(names: Iterable[_Name], count: int) -> list[list[_Name]]:
    """Divide names into parts so that the part of a name does not depend on the other names."""
    parts: dict[int, list[_Name]] = {}
    for name in names:
        parts.setdefault(crc32(str(name).encode()) % count, []).append(name)
    return list(parts.values())


def texts_of(hip: tuple[int, int]) -> dict[str, bytes]:
    cases = [name for name in CASES if hip != OLD or name not in NOT_WITH_OLD]
    return {name.replace("/", "."): ported(CASES[name]) for name in cases}


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "configuration",
    further(CONFIGURATIONS, FURTHER, lambda each: f"{each[0][0]}.{each[0][1]}-{each[2]}{len(each[1])}"),
)
def test_compile_for_every_wavefront_and_hip(
    configuration: tuple[tuple[int, int], tuple[str, ...], str], tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    hip, flags, arch = configuration
    further_too = pytestconfig.getoption("--further")
    toolchain(hip)
    texts = texts_of(hip)
    asking = {name: text for name, text in texts.items() if asked_for(text)}
    others = {name: text for name, text in texts.items() if name not in asking}
    # AMD's library of algorithms takes four times as long for a few fixtures as all others together.
    of_library = {
        name: text for name, text in others.items() if any(path.startswith(ALGORITHMS) for path in included(text))
    }
    others = {name: text for name, text in others.items() if name not in of_library}
    assert asking and (of_library or hip == OLD)
    code = configuration in WITH_CODE
    units = [("asking", asking, code), ("others", others, code)]
    if of_library:
        # Code once, for waves of 64 lanes, for which it is written; for 32 only the syntax is checked.
        units.append(("of_library", of_library, code and (arch == "gfx942" or further_too)))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = pool.map(lambda unit: compile_device(hip, flags, arch, unit[1], tmp_path / unit[0], code=unit[2]), units)
        assert list(said) == [""] * len(units)


@pytest.mark.toolchain
def test_each_compiles_alone(tmp_path: Path) -> None:
    toolchain(NEW)

    # Together with fixtures that include the same headers, which is equivalent to alone.
    groups: dict[frozenset[str], dict[str, bytes]] = {}
    for name, text in texts_of(NEW).items():
        groups.setdefault(included(text), {})[name] = text

    # The slowest headers, longest first. All of hipport's own begin with HIP's.
    shared = {"hipcub.h": ("hipcub/hipcub.hpp",), "hip.h": ("hip/hip_runtime.h", "hipport/")}
    units: dict[str, list[Path]] = {name: [] for name in (*shared, "")}
    for paths, group in groups.items():
        front = (name for name, starts in shared.items() if any(path.startswith(starts) for path in paths))
        units[next(front, "")].append(unit_of(group, tmp_path / f"{crc32(' '.join(sorted(paths)).encode()):08x}"))
    assert all(units.values())
    chosen = toolchain(NEW)
    for name, (path, *_) in shared.items():
        (tmp_path / name).write_text(f"#include <{path}>\n")

    lock = Lock()

    @cache
    def precompile(name: str) -> None:
        made = ("-S", "-emit-llvm", "-Xclang", "-emit-pch", "-o", tmp_path / f"{name}.pch")
        own = ("-x", "hip", "--cuda-device-only", "-std=c++17", "--offload-arch=gfx942")
        subprocess.run([chosen.hipcc, *own, *made, tmp_path / name], env=chosen.environment(os.environ), check=True)

    # hipcc takes as long to start as the compiler does for a small unit.
    parts = [(name, part) for name, each in units.items() for part in in_parts(each, 3)]

    def run(name: str, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        with lock:
            precompile(name)
        return subprocess.run(command, env=chosen.environment(os.environ), capture_output=True, text=True, check=False)

    def said_of(name: str, part: list[Path]) -> str:
        front = ("-include", tmp_path / name) if name else ()
        return complaint(NEW, ("-fsyntax-only", *front), "gfx942", part, partial(run, name) if name else None)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = list(pool.map(lambda part: said_of(*part), parts))
    assert not any(complaints), "\n".join(complaints)


@pytest.mark.toolchain
def test_compute_types_are_those_of_hipblas(tmp_path: Path) -> None:
    """Which functions hipBLAS has depends on a macro, and the first fixture of a unit decides about it."""
    chosen = toolchain(NEW)
    folders = (ROOT / "fixtures/compute_types", ROOT / "fixtures/api_names")
    found = {str(each): each.after for folder in folders for each in fixtures(folder)}
    ported = found["compute_types/types_of_data"]
    wrong = ported.replace(b"HIPBLAS_COMPUTE_32I", b"HIP_R_32I")
    texts = (ported, found["compute_types/look_alikes"], found["api_names/products_in_float"])
    for text, problem in (*((text, "") for text in texts), (wrong, "no matching function")):
        path = tmp_path / "case.hip"
        path.write_bytes(text)
        command = [chosen.hipcc, "-fsyntax-only", "--cuda-host-only", path]
        done = subprocess.run(command, env=chosen.environment(os.environ), capture_output=True, text=True, check=False)
        assert (done.returncode != 0) == bool(problem) and problem in done.stderr, done.stderr


def test_the_lists_of_exceptions_name_existing_fixtures() -> None:
    names = {str(case) for each in PASSES for case in fixtures(ROOT / "fixtures" / each.name)}
    assert set(NOT_COMPILED) | set(NOT_WITH_OLD) <= names


@pytest.mark.toolchain
def test_faults_are_noticed(tmp_path: Path) -> None:
    start = b"#include <hip/hip_runtime.h>\n__global__ void k(unsigned* out, unsigned long long m) { "
    narrowed = compile_device(NEW, (), "gfx942", {"a": start + b"out[0] = __ballot(m != 0); }\n"}, tmp_path / "1")
    assert "shorten-64-to-32" in narrowed
    trapping = b"if (m) return; out[0] = __shfl_sync(~0ull, out[1], 3, 32); }\n"
    assert "s_trap" in compile_device(NEW, (SYNC_BUILTINS,), "gfx942", {"b": start + trapping}, tmp_path / "2")
    assert not compile_device(NEW, (), "gfx942", {"c": start + b"out[0] = m != 0; }\n"}, tmp_path / "3")
