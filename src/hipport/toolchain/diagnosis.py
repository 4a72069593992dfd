# SPDX-License-Identifier: Apache-2.0
"""Say what on a machine would break a run on an AMD GPU: what was seen, why it matters, what to do.

Pure functions of the result of `machine.look`. A check that could not be made says so, and never counts as passed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from hipport.core.tables import load
from hipport.program.project import DEFAULT_ARCHS
from hipport.toolchain.machine import Gpu, Machine, Torch
from hipport.toolchain.toolchains import Toolchain


class Status(Enum):
    """The status of a check."""

    OK = "ok"  #: as it should be
    NOTE = "note"  #: neither good nor bad, for information
    UNKNOWN = "unknown"  #: could not be examined
    WARNING = "warning"  #: may go wrong
    PROBLEM = "problem"  #: would break a run, or a build

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Check:
    """One check. `why` says why it matters, `action` what to do; both may be empty."""

    name: str
    status: Status
    seen: str
    why: str = ""
    action: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """A machine and its checks."""

    machine: Machine
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was seen that would break a run."""
        return not any(check.status is Status.PROBLEM for check in self.checks)


def diagnose(machine: Machine) -> Diagnosis:
    """Return all checks of `machine`, in the order in which to fix problems."""
    found: list[Check] = []
    for check in _CHECKS:
        found += check(machine)
    return Diagnosis(machine, tuple(found))


@cache
def _facts() -> dict[str, Any]:
    return load(Path(__file__).with_name("diagnosis.toml"))


def _gpus(machine: Machine) -> Iterator[Check]:
    if machine.gpus:
        seen = "; ".join(str(gpu) for gpu in machine.gpus)
        yield Check("gpus", Status.OK, seen)
        if machine.withheld:
            yield Check(
                "gpus", Status.NOTE, f"{_count(machine.withheld, 'more GPU')} of the host not given to this container"
            )
    elif machine.wsl and machine.agents:
        # On WSL, ROCm reaches GPUs through /dev/dxg, and the driver is that of Windows.
        shown = ", ".join(f"{arch} (wavefront {lanes})" for arch, lanes in machine.agents)
        yield Check("gpus", Status.OK, f"WSL; rocminfo shows {shown}")
    elif machine.withheld:
        yield Check(
            "gpus",
            Status.PROBLEM,
            f"the host has {_count(machine.withheld, 'GPU')}, and this container may use none",
            "the driver hides a GPU whose device in /dev/dri the container does not have",
            _container_advice(machine),
        )
    elif machine.on_bus:
        yield Check(
            "gpus",
            Status.PROBLEM,
            f"AMD GPU at {', '.join(machine.on_bus)} on the PCI bus, but the driver does not offer it for computing",
            "ROCm finds GPUs through the driver amdgpu with KFD"
            + ("" if machine.driver is not None else ", which is not loaded"),
            "load or install the driver (modprobe amdgpu, AMD's amdgpu-dkms); `dmesg | grep -i kfd` says why it "
            "skips a GPU",
        )
    else:
        nvidia = f" (NVIDIA's at {', '.join(machine.nvidia)})" if machine.nvidia else ""
        yield Check(
            "gpus",
            Status.PROBLEM,
            f"no AMD GPU{nvidia}",
            "nothing can run on an AMD GPU here; rewriting, compiling and verifying on the CPU need none",
            "build for a GPU elsewhere: set PYTORCH_ROCM_ARCH or --target; run on a machine that has that GPU",
        )


def _driver(machine: Machine) -> Iterator[Check]:
    if machine.driver is None:
        return  # no GPU either: the kernel lists GPUs by their driver
    kernel = f"Linux {machine.kernel}" if machine.kernel else "an unknown kernel"
    if not machine.driver:
        yield Check("driver", Status.OK, f"amdgpu of {kernel} itself")
        return
    row = _facts()["driver"].get(".".join(machine.driver.split(".")[:2]))
    runtime = (machine.torch.hip if machine.torch else "") or machine.rocm
    release = _release(runtime)
    known = f", of ROCm {row['release']}" if row else ""
    seen = f"amdgpu {machine.driver}{known}, on {kernel}"
    if row and release and release not in row["runs"].split():
        yield Check(
            "driver",
            Status.WARNING,
            f"{seen}; the runtime is ROCm {release}'s",
            f"AMD tests this driver with ROCm {', '.join(row['runs'].split())}",
            "install a driver and a ROCm that match",
        )
    else:
        yield Check("driver", Status.OK, seen)


def _devices(machine: Machine) -> Iterator[Check]:
    paths = {device.path for device in machine.devices}
    wanted = {f"/dev/dri/{gpu.render}" for gpu in machine.gpus if gpu.render} | {"/dev/kfd"}
    present = bool(machine.gpus or machine.withheld or machine.on_bus or machine.driver is not None)
    missing = sorted(wanted - paths)
    if not present and not paths:
        if machine.container:
            # In a container without a sign of a GPU, the host may have one.
            yield Check(
                "devices",
                Status.NOTE,
                f"a container ({machine.container}) without /dev/kfd",
                "a container sees a host's GPU only if it was given to it",
                _container_advice(machine),
            )
        return
    if missing:
        inside = f"a container ({machine.container}) without " if machine.container else "no "
        yield Check(
            "devices",
            Status.PROBLEM,
            inside + ", ".join(missing),
            "the runtime opens them, and finds no GPU without them",
            _container_advice(machine)
            if machine.container
            else "load the driver (modprobe amdgpu); `dmesg | grep -i kfd` says what went wrong",
        )
    closed = [device for device in machine.devices if not device.usable and (device.path in wanted or not machine.gpus)]
    if closed:
        groups = sorted({device.group or str(device.gid) for device in closed})
        enrolled = set(groups) <= set(machine.enrolled)
        named = [f"{device.path} ({device.group or device.gid})" for device in closed]
        if machine.container:
            gids = sorted({device.gid for device in closed})
            action = "start the container with " + " ".join(f"--group-add {gid}" for gid in gids)
        elif enrolled:
            action = "log out and in again: the user is in the group, but this session is older"
        else:
            action = f"sudo usermod -aG render,video {machine.user}; then log in again"
        yield Check(
            "devices",
            Status.PROBLEM,
            f"{machine.user} may not use {', '.join(named)}",
            f"they are open to the group {', '.join(groups)}, and this process is in {', '.join(machine.groups)}",
            action,
        )
    if not missing and not closed:
        yield Check("devices", Status.OK, f"{machine.user} may use {', '.join(sorted(wanted))}")
    if not machine.container and not closed and machine.user != "root":
        absent = [name for name in ("render", "video") if name not in machine.groups]
        if absent and not missing:
            yield Check(
                "devices", Status.NOTE, f"{machine.user} is not in {' and '.join(absent)}, and does not need to be"
            )


def _containers(machine: Machine) -> Iterator[Check]:
    if not machine.container or not (machine.gpus or machine.withheld):
        return
    small = machine.shared_memory is not None and machine.shared_memory < 1 << 30
    if small:
        assert machine.shared_memory is not None
        yield Check(
            "container",
            Status.WARNING,
            f"/dev/shm has {machine.shared_memory >> 20} MiB",
            "PyTorch's data loaders and RCCL exchange data there, and stop with a bus error when it is full",
            "start the container with --ipc=host, or --shm-size=16g",
        )
    if machine.seccomp:
        yield Check(
            "container",
            Status.NOTE,
            "system calls are filtered (seccomp)",
            "AMD advises against it: memory cannot be bound to the NUMA node next to the GPU",
            "if that matters: --security-opt seccomp=unconfined --cap-add=SYS_PTRACE",
        )


def _visible(machine: Machine) -> Iterator[Check]:
    if not machine.gpus:
        return
    left, said = visible(machine)
    if not said:
        return
    shown = f"{', '.join(said)}: {', '.join(f'{gpu.arch} at {gpu.address}' for gpu in left) or 'no GPU'} visible"
    if left:
        yield Check("visible", Status.NOTE, shown)
    else:
        yield Check(
            "visible",
            Status.PROBLEM,
            shown,
            "the runtime hides other GPUs from programs; a list ends at the first entry that names none",
            f"unset {' '.join(each.partition('=')[0] for each in said)}, or name GPUs that exist",
        )
    if "ROCR_VISIBLE_DEVICES" in machine.variables and len(said) > 1:
        yield Check(
            "visible",
            Status.NOTE,
            "HIP's list counts the GPUs that ROCR_VISIBLE_DEVICES leaves, from 0",
        )


def visible(machine: Machine) -> tuple[tuple[Gpu, ...], tuple[str, ...]]:
    """Return the GPUs that a HIP program sees, and the variables that select them.

    ROCR_VISIBLE_DEVICES is applied first (indices or UUIDs), then HIP_VISIBLE_DEVICES or, without it,
    CUDA_VISIBLE_DEVICES, which counts the remaining GPUs: ROCm's documentation, "GPU isolation techniques".
    """
    left, said = list(machine.gpus), []
    hip = "HIP_VISIBLE_DEVICES" if "HIP_VISIBLE_DEVICES" in machine.variables else "CUDA_VISIBLE_DEVICES"
    for name in ("ROCR_VISIBLE_DEVICES", hip):
        value = machine.variables.get(name)
        if value is None:
            continue
        said.append(f"{name}={value}")
        chosen = []
        for word in (each.strip() for each in value.split(",")):
            named = [gpu for gpu in left if gpu.uuid and gpu.uuid.lower() == word.lower()]
            if word.isdigit() and int(word) < len(left):
                named = [left[int(word)]]
            if not named:
                break
            chosen += named
        left = chosen
    return tuple(left), tuple(said)


def _integrated(machine: Machine) -> Iterator[Check]:
    left, _ = visible(machine)
    small = [gpu for gpu in machine.gpus if gpu.integrated]
    if not small or len(small) == len(machine.gpus):
        return
    shown = [gpu for gpu in small if gpu in left]
    named = ", ".join(f"{gpu.arch} at {gpu.address}" for gpu in shown or small)
    others = [str(index) for index, gpu in enumerate(machine.gpus) if not gpu.integrated]
    if shown and len(left) > len(shown):
        yield Check(
            "integrated",
            Status.PROBLEM,
            f"the integrated GPU {named} is enabled beside another",
            "the runtime can crash, and programs that use GPU 0 may get the small one",
            f"disable it in the firmware's setup, or hide it: export ROCR_VISIBLE_DEVICES={','.join(others)}",
        )
    elif not shown:
        yield Check(
            "integrated",
            Status.NOTE,
            f"the integrated GPU {named} is hidden by the environment",
            "ROCm 5.7 could crash nevertheless",
            "if programs crash before their first kernel, disable it in the firmware's setup",
        )


def _iommu(machine: Machine) -> Iterator[Check]:
    large = [gpu for gpu in machine.gpus if not gpu.integrated]
    if len(large) + machine.withheld < 2:
        return
    if machine.iommu == "translated":
        yield Check(
            "iommu",
            Status.PROBLEM,
            f"{len(large) + machine.withheld} GPUs, and the IOMMU translates their addresses",
            "programs on several GPUs hang, or get wrong data from each other",
            "add iommu=pt to the kernel's command line (GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub) and "
            "restart" + (" the host" if machine.container else ""),
        )
    elif machine.iommu is None:
        yield Check(
            "iommu",
            Status.UNKNOWN,
            f"{len(large)} GPUs, and the IOMMU's mode for them is not visible here",
            "programs on several GPUs hang where it translates addresses",
            "on the host, look for iommu=pt in /proc/cmdline",
        )
    else:
        yield Check(
            "iommu", Status.OK, f"{len(large)} GPUs; the IOMMU is {machine.iommu.replace('through', ' through')}"
        )


def _atomics(machine: Machine) -> Iterator[Check]:
    without = [gpu for gpu in machine.gpus if not gpu.atomics and not gpu.integrated]
    if without:
        yield Check(
            "atomics",
            Status.WARNING,
            f"no PCIe atomics between the CPU and {', '.join(f'{gpu.arch} at {gpu.address}' for gpu in without)}",
            "atomic operations on the host's memory are lost or fail: printf in kernels, memory shared with the "
            "CPU, and signals between GPUs through it",
            "put the GPU into a slot that is wired to the CPU; risers and the chipset's slots often have no PCIe "
            "atomics",
        )


def _override(machine: Machine) -> Iterator[Check]:
    for name, value in sorted(machine.variables.items()):
        if not name.startswith("HSA_OVERRIDE_GFX_VERSION"):
            continue
        claimed = _claimed(value)
        if not claimed:
            yield Check(
                "override",
                Status.PROBLEM,
                f"{name}={value}",
                "the runtime reads three numbers, for example 11.0.0",
                f"unset {name}",
            )
            continue
        node = re.search(r"_(\d+)$", name)
        meant = [gpu for gpu in machine.gpus if node is None or gpu.node == int(node[1])]
        wrong = [gpu for gpu in meant if gpu.arch != claimed]
        named = ", ".join(dict.fromkeys(gpu.arch for gpu in wrong))
        if not machine.gpus:
            yield Check("override", Status.NOTE, f"{name}={value}", f"a GPU would be treated as {claimed}")
        elif not wrong:
            yield Check("override", Status.NOTE, f"{name}={value} is the GPU's own version", action=f"unset {name}")
        elif all(_family(gpu.arch) == _family(claimed) for gpu in wrong):
            yield Check(
                "override",
                Status.WARNING,
                f"{name}={value}: {named} is treated as {claimed}",
                f"code for {claimed} runs on it only if the two have the same instructions and registers",
                f"better build everything for {named}, and unset {name}",
            )
        else:
            yield Check(
                "override",
                Status.PROBLEM,
                f"{name}={value}: {named} is treated as {claimed}",
                "their instructions differ: kernels end with an illegal instruction, or give wrong numbers",
                f"unset {name}, and build everything for {named}",
            )


def _rocminfo(machine: Machine) -> Iterator[Check]:
    if not machine.gpus:
        return
    if machine.rocminfo is None:
        yield Check(
            "runtime",
            Status.UNKNOWN,
            "rocminfo is not here, or does not answer",
            "it shows the GPUs as programs see them",
        )
        return
    agents = machine.agents or ()
    if not agents:
        said = [line.strip() for line in machine.rocminfo.splitlines() if line.strip()]
        yield Check(
            "runtime",
            Status.PROBLEM,
            f"rocminfo shows no GPU that runs kernels: {(said[-1] if said else 'it prints nothing')}",
            "no program finds one either",
            "first solve the problems above with devices and with visible GPUs",
        )
        return
    shown = ", ".join(f"{arch} (wavefront {lanes})" for arch, lanes in agents)
    rocr = len(machine.gpus) if "ROCR_VISIBLE_DEVICES" not in machine.variables else None
    if rocr is not None and len(agents) < rocr:
        yield Check(
            "runtime",
            Status.WARNING,
            f"rocminfo shows {shown}; the driver has {_count(rocr, 'GPU')}",
            "the runtime skips GPUs that it does not know, or may not use",
            "a newer ROCm may know them",
        )
    else:
        yield Check("runtime", Status.OK, f"rocminfo shows {shown}")


def _hipcc(machine: Machine) -> Iterator[Check]:
    if machine.toolchains is None:
        yield Check("hipcc", Status.UNKNOWN, "not checked: nothing of another machine is run")
        return
    archs, compiler = _archs(machine), _compiler(machine)
    if compiler is not None and compiler.targets(archs):
        yield Check("hipcc", Status.OK, f"{compiler} compiles for {', '.join(archs)}")
    elif machine.toolchains:
        yield Check(
            "hipcc",
            Status.PROBLEM,
            f"{machine.toolchains[0]} does not compile for {', '.join(archs)}",
            "extensions are compiled for the GPU of this machine",
            "install a newer ROCm, or set ROCM_PATH to one",
        )
    else:
        yield Check(
            "hipcc",
            Status.PROBLEM,
            "no hipcc",
            "extensions and programs are compiled with it",
            "install ROCm, or set ROCM_PATH to its folder",
        )


def _archs(machine: Machine) -> tuple[str, ...]:
    """Return the GPUs to compile for on this machine: those in the environment, or hipport's defaults."""
    return tuple(dict.fromkeys(_taken_for(machine, gpu) for gpu in _meant(machine))) or DEFAULT_ARCHS


def _taken_for(machine: Machine, gpu: Gpu) -> str:
    """The processor that the runtime takes a GPU for."""
    name = f"HSA_OVERRIDE_GFX_VERSION_{gpu.node}"
    value = machine.variables.get(name, machine.variables.get("HSA_OVERRIDE_GFX_VERSION", ""))
    return _claimed(value) or gpu.arch


def _claimed(version: str) -> str:
    parts = version.split(".")
    if len(parts) != 3 or not all(part.isdigit() for part in parts):
        return ""
    return f"gfx{int(parts[0])}{int(parts[1])}{int(parts[2]):x}"


def _meant(machine: Machine) -> tuple[Gpu, ...]:
    """The visible GPUs, without an integrated one beside others, which `_integrated` covers."""
    left = visible(machine)[0]
    return tuple(gpu for gpu in left if not gpu.integrated) or left


def _compiler(machine: Machine) -> Toolchain | None:
    """The hipcc that `hipport build` would use."""
    toolchains = machine.toolchains or ()
    able = (each for each in toolchains if each.targets(_archs(machine)))
    return next(able, toolchains[0] if toolchains else None)


def _platform(machine: Machine) -> Iterator[Check]:
    chosen = machine.variables.get("HIP_PLATFORM")
    if chosen and chosen != "amd":
        yield Check(
            "platform",
            Status.PROBLEM,
            f"HIP_PLATFORM={chosen}",
            "hipcc is set to compile for NVIDIA's GPUs",
            "export HIP_PLATFORM=amd",
        )
    elif not chosen and machine.platform == "nvidia":
        yield Check(
            "platform",
            Status.PROBLEM,
            "hipconfig --platform says nvidia" + (f", and {machine.nvcc} exists" if machine.nvcc else ""),
            "hipcc treats a machine with nvcc as one with an NVIDIA GPU",
            "export HIP_PLATFORM=amd",
        )
    if machine.nvcc and machine.platform != "nvidia" and (machine.toolchains or machine.gpus or machine.rocm):
        variables = [name for name in ("CUDA_HOME", "CUDA_PATH") if name in machine.variables]
        steps = [f"unset {' '.join(variables)}"] if variables else []
        steps += [] if chosen else ["export HIP_PLATFORM=amd"]
        yield Check(
            "platform",
            Status.NOTE if chosen == "amd" else Status.WARNING,
            f"{machine.nvcc} beside ROCm" + (f"; {' and '.join(variables)} set" if variables else ""),
            "build scripts that look for nvcc or CUDA_HOME build for NVIDIA"
            + ("" if chosen else ", and hipcc may treat the machine as one with an NVIDIA GPU"),
            "; ".join(steps),
        )


def _torch(machine: Machine) -> Iterator[Check]:
    torch = machine.torch
    if torch is None:
        return
    if torch.problem:
        yield Check(
            "torch",
            Status.NOTE,
            f"no PyTorch in {torch.python}: {torch.problem}",
            "extensions are built against one",
            "name the interpreter that has it: --python",
        )
        return
    if not torch.hip:
        seen = (
            f"PyTorch {torch.version} in {torch.python}, for {f'CUDA {torch.cuda}' if torch.cuda else 'the CPU alone'}"
        )
        if not machine.gpus and not machine.withheld:
            yield Check("torch", Status.NOTE, seen)
            return
        yield Check(
            "torch",
            Status.PROBLEM,
            seen,
            "it does not see AMD's GPUs, and torch.version.hip is None; perhaps an installer replaced another PyTorch",
            "install PyTorch from the index for ROCm (pytorch.org), and keep installers from replacing it",
        )
        return
    yield from _torch_for_rocm(machine, torch)


def _torch_for_rocm(machine: Machine, torch: Torch) -> Iterator[Check]:
    seen = f"PyTorch {torch.version} in {torch.python}, for HIP {torch.hip}"
    left = _meant(machine)
    archs = {arch.split(":")[0] for arch in torch.archs}
    wanted = dict.fromkeys(_taken_for(machine, gpu) for gpu in left)
    foreign = [arch for arch in wanted if archs and arch not in archs and _family(arch) not in archs]
    if foreign:
        yield Check(
            "torch",
            Status.PROBLEM,
            f"{seen}, has no code for {', '.join(foreign)}",
            f"it was built for {', '.join(torch.archs)}: every operator fails with `invalid device function`",
            "install a PyTorch that was built for it",
        )
    elif torch.failed and left:
        yield Check(
            "torch",
            Status.PROBLEM,
            f"{seen}: {torch.failed}",
            "the only test was an addition on each GPU",
            "first solve the problems above",
        )
    elif torch.ran:
        yield Check("torch", Status.OK, f"{seen}; it added numbers on {', '.join(torch.ran)}")
    else:
        status = Status.PROBLEM if left else Status.OK
        yield Check("torch", status, f"{seen}; it sees no GPU", "torch.cuda.device_count() is 0" if left else "")
    for arch, release in _facts()["young"].items():
        if any(gpu.arch == arch for gpu in left) and _numbers(torch.hip) < _numbers(release):
            yield Check(
                "torch",
                Status.WARNING,
                f"PyTorch for ROCm {_release(torch.hip)} on {arch}",
                "some operators fail on it",
                f"use a build for ROCm {release} or later",
            )


def _versions(machine: Machine) -> Iterator[Check]:
    compiler = _compiler(machine)
    torch = machine.torch.hip if machine.torch else ""
    if compiler and torch:
        ours, theirs = compiler.rocm, _numbers(torch)
        if ours == theirs:
            yield Check("versions", Status.OK, f"hipcc and PyTorch are both ROCm {_release(torch)}'s")
        else:
            apart = ours[0] != theirs[0]
            yield Check(
                "versions",
                Status.PROBLEM if apart else Status.WARNING,
                f"hipcc has the headers of ROCm {ours[0]}.{ours[1]}, PyTorch is built with {_release(torch)}",
                "an extension includes both, and is linked to PyTorch's runtime"
                + (", whose interface differs between major releases" if apart else ""),
                f"install ROCm {_release(torch)}, or a PyTorch for ROCm {ours[0]}.{ours[1]}",
            )
    if compiler and machine.rocm and compiler.found != "pip" and _numbers(machine.rocm) != compiler.rocm:
        yield Check(
            "versions",
            Status.WARNING,
            f"ROCm {machine.rocm} is installed; the headers of {compiler.hipcc} are those of "
            + ".".join(map(str, compiler.rocm)),
            "code that is compiled with the headers of one runs with the libraries of the other",
            "put the bin folder of the one you want first on PATH, or set ROCM_PATH",
        )


def _arch_list(machine: Machine) -> Iterator[Check]:
    wanted = machine.variables.get("PYTORCH_ROCM_ARCH")
    left = _meant(machine)
    if wanted is None:
        if not left:
            yield Check(
                "arch list",
                Status.WARNING,
                "PYTORCH_ROCM_ARCH is not set, and no GPU is visible",
                "PyTorch builds extensions for the GPUs that it sees: for none here",
                f'export PYTORCH_ROCM_ARCH="{";".join(DEFAULT_ARCHS)}", or the GPUs that you build for',
            )
        return
    archs = [each.split(":")[0] for each in wanted.replace(";", " ").replace(",", " ").split()]
    taken = dict.fromkeys(_taken_for(machine, gpu) for gpu in left)
    missing = [arch for arch in taken if arch not in archs and _family(arch) not in archs]
    if missing:
        yield Check(
            "arch list",
            Status.PROBLEM,
            f"PYTORCH_ROCM_ARCH={wanted} does not have {', '.join(missing)}",
            "extensions that are built here do not run here: `invalid device function`",
            f'export PYTORCH_ROCM_ARCH="{";".join(dict.fromkeys([*archs, *missing]))}"',
        )
    else:
        yield Check("arch list", Status.OK, f"PYTORCH_ROCM_ARCH={wanted}")


#: First what has to be there, then access to it, then what runs on it, then builds.
_CHECKS = (
    _gpus, _driver, _devices, _containers, _visible, _integrated, _iommu, _atomics, _override, _rocminfo, _hipcc,
    _platform, _torch, _versions, _arch_list,
)  # fmt: skip


def _container_advice(machine: Machine) -> str:
    if machine.container == "kubernetes":
        return "request the resource amd.com/gpu of AMD's device plugin"
    gids = "--group-add video --group-add render"
    return (
        f"start the container with --device=/dev/kfd --device=/dev/dri --ipc=host {gids} "
        "--security-opt seccomp=unconfined"
    )


def _family(arch: str) -> str:
    """The generic target of a processor, or the processor where it has none."""
    return next((name for name, archs in _facts()["family"].items() if arch in archs.split()), arch)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _release(version: str) -> str:
    return ".".join(map(str, _numbers(version)))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
