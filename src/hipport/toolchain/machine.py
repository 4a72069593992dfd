# SPDX-License-Identifier: Apache-2.0
"""Inspect a machine for running HIP: its GPUs and their permissions, its driver and its settings.

GPUs are read from the topology of the kernel driver, `/sys/class/kfd/kfd/topology/nodes/N`, which needs no ROCm.
The meaning of its fields: drivers/gpu/drm/amd/amdkfd/kfd_topology.c and kfd_crat.h of Linux 6.12, and the documentation
of HSA's topology in libhsakmt (hsakmttypes.h of ROCm 6.4). Nothing is executed except the tools that `look` names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from stat import S_IMODE

from hipport.core import reading
from hipport.core.tables import load
from hipport.toolchain import toolchains
from hipport.toolchain.processes import ask_python
from hipport.toolchain.toolchains import Toolchain

NODES = "sys/class/kfd/kfd/topology/nodes"

#: Variables that select the visible GPUs, override their architecture, or choose what is compiled for them.
VARIABLES = (
    "ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES PYTORCH_ROCM_ARCH HIP_PLATFORM "
    "CUDA_HOME CUDA_PATH ROCM_PATH ROCM_HOME HIP_PATH"
).split()
_OVERRIDE = re.compile(r"HSA_OVERRIDE_GFX_VERSION(?:_\d+)?")

_AMD, _NVIDIA = "0x1002", "0x10de"
# PCI classes of display controllers (03) and processing accelerators (12).
_GPU_CLASSES = ("0x03", "0x12")
# HSA_IOLINKTYPE_PCIEXPRESS; CRAT_IOLINK_FLAGS_NO_ATOMICS_32_BIT and _64_BIT.
_PCIE, _NO_ATOMICS = 2, 0b1100
# Heaps of a GPU's own memory: HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC and _PRIVATE.
_OWN_MEMORY = (1, 2)


@dataclass(frozen=True)
class Gpu:
    """An AMD GPU that the driver knows.

    `address` is its PCI address, `render` the name of its device in /dev/dri, `uuid` its id for ROCR_VISIBLE_DEVICES.
    `integrated` means that it is part of a CPU. `atomics` is false if its PCIe path to the CPU does not support them.
    """

    node: int
    arch: str
    wavefront: int
    units: int
    memory: int
    address: str
    render: str
    uuid: str
    integrated: bool
    atomics: bool

    def __str__(self) -> str:
        kind = ", integrated" if self.integrated else ""
        memory = f", {self.memory / (1 << 30):.0f} GiB" if self.memory else ""
        return f"{self.arch} at {self.address} ({self.units} compute units, wavefront {self.wavefront}{memory}{kind})"


@dataclass(frozen=True)
class Device:
    """A file in /dev that gives access to GPUs: its owner, and whether the user may read and write it."""

    path: str
    group: str
    gid: int
    usable: bool


@dataclass(frozen=True)
class Torch:
    """The PyTorch of an interpreter, by its own statements; `problem` is why nothing is known of it.

    `archs` are the processors that it was built for. `ran` names the GPUs on which it added numbers, and `failed` is
    the error where it could not.
    """

    python: str
    version: str = ""
    hip: str = ""
    cuda: str = ""
    archs: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()
    failed: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Machine:
    """The facts that were found. An empty value means that a thing is absent; None, that it could not be examined.

    `groups` are those of this process, `enrolled` those that /etc/group gives the user, perhaps from the next login on.
    `wsl` means Linux inside Windows, where GPUs are not reached through KFD.
    `withheld` counts GPUs that the driver knows but that a container may not use. `iommu` is `off`, `passthrough` or
    `translated`. `agents` are the processors and wavefront sizes from rocminfo. `platform` is that of hipconfig.
    """

    user: str
    groups: tuple[str, ...]
    enrolled: tuple[str, ...]
    kernel: str
    container: str
    driver: str | None
    gpus: tuple[Gpu, ...]
    withheld: int
    on_bus: tuple[str, ...]
    nvidia: tuple[str, ...]
    devices: tuple[Device, ...]
    iommu: str | None
    shared_memory: int | None
    seccomp: bool
    variables: Mapping[str, str]
    rocm: str
    nvcc: str
    wsl: bool = False
    platform: str | None = None
    agents: tuple[tuple[str, int], ...] | None = None
    rocminfo: str | None = None
    toolchains: tuple[Toolchain, ...] | None = None
    torch: Torch | None = None


@dataclass(frozen=True)
class User:
    """The user of the GPUs. `groups` are the group ids of the process."""

    uid: int
    groups: tuple[int, ...]


def me() -> User:
    """Return the user of this process."""
    return User(os.geteuid(), tuple(sorted({os.getegid(), *os.getgroups()})))


def look(root: Path, env: Mapping[str, str], user: User, python: Path | None = None) -> Machine:
    """Inspect the machine below `root`, as `user` with the environment `env`.

    If `root` is /, existing tools of ROCm are run (rocminfo, hipconfig, amd-smi, each hipcc), and with `python` a
    program that uses its PyTorch. Otherwise only files are read, and nothing is run.
    """
    groups = _groups(root)
    name, enrolled = _account(root, user.uid, groups)
    gpus, withheld = known_gpus(root)
    here = root == Path("/")
    bus = tuple(_on_bus(root))
    rocm = _rocm(root, env)
    if here and not rocm:
        said = _ask("amd-smi", "version", env) or ""
        rocm = match[1] if (match := re.search(r"ROCm version: (\d+\.\d+[\d.]*)", said)) else ""
    rocminfo = _ask("rocminfo", "", env) if here else None
    platform = _ask("hipconfig", "--platform", env) if here else None
    return Machine(
        user=name,
        groups=tuple(groups.get(gid, str(gid)) for gid in user.groups),
        enrolled=enrolled,
        kernel=_text(root / "proc/sys/kernel/osrelease"),
        container=_container(root, env),
        driver=_driver(root),
        gpus=gpus,
        withheld=withheld,
        on_bus=tuple(address for vendor, address in bus if vendor == _AMD),
        nvidia=tuple(address for vendor, address in bus if vendor == _NVIDIA),
        devices=tuple(_devices(root, user, groups, here)),
        iommu=_iommu(root, [gpu.address for gpu in gpus]),
        shared_memory=_shared_memory(root),
        seccomp=bool(re.search(r"^Seccomp:\s*2", _text(root / "proc/self/status"), re.MULTILINE)),
        variables={n: v for n, v in env.items() if v and (n in VARIABLES or _OVERRIDE.fullmatch(n))},
        rocm=rocm,
        nvcc=_nvcc(root, env),
        wsl=(root / "dev/dxg").exists(),
        platform=platform.split()[-1] if platform else None,
        agents=_agents(rocminfo) if rocminfo else None,
        rocminfo=rocminfo,
        toolchains=toolchains.find(env, python, anew=True) if here else None,
        torch=torch_of(python, env) if here and python else None,
    )


@cache
def _integrated() -> frozenset[str]:
    return frozenset(load(Path(__file__).with_name("diagnosis.toml"))["integrated"].split())


def arch_of(version: int) -> str:
    """Return the name for `gfx_target_version`: minor version and stepping have two decimal digits, 90402 is gfx942.

    A name has the stepping as a hexadecimal digit: 90010 is gfx90a.
    """
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def known_gpus(root: Path) -> tuple[tuple[Gpu, ...], int]:
    """Return the GPUs that the driver knows, and the number of those that this container may not inspect."""
    found, withheld = [], 0
    for node in sorted((root / NODES).glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            text = reading.read(node / "properties").decode("utf-8", "replace")
        except OSError:
            # The driver's answer in a container whose devices do not include this GPU.
            withheld += 1
            continue
        values = _values(text)
        if values.get("simd_count", 0) and values.get("gfx_target_version", 0):
            found.append(_gpu(root, node, values))
    return tuple(found), withheld


def _gpu(root: Path, node: Path, values: Mapping[str, int]) -> Gpu:
    where, minor = values.get("location_id", 0), values.get("drm_render_minor", 0)
    arch = arch_of(values["gfx_target_version"])
    banks = [_values(_text(path)) for path in sorted(node.glob("mem_banks/*/properties"))]
    links = [_values(_text(path)) for path in sorted(node.glob("io_links/*/properties"))]
    cpus = {
        int(path.name)
        for path in (root / NODES).glob("[0-9]*")
        if _values(_text(path / "properties")).get("cpu_cores_count", 0)
    }
    # Links between GPUs do not matter here: only whether the GPU supports atomic operations on the CPU's memory.
    over_pcie = [link for link in links if link.get("type") == _PCIE and link.get("node_to") in cpus]
    return Gpu(
        node=int(node.name),
        arch=arch,
        wavefront=values.get("wave_front_size", 0),
        units=values["simd_count"] // (values.get("simd_per_cu", 0) or 1),
        memory=sum(bank.get("size_in_bytes", 0) for bank in banks if bank.get("heap_type") in _OWN_MEMORY),
        address=f"{values.get('domain', 0):04x}:{where >> 8 & 0xFF:02x}:{where >> 3 & 0x1F:02x}.{where & 7:x}",
        render=f"renderD{minor}" if minor else "",
        uuid=f"GPU-{values['unique_id']:016x}" if values.get("unique_id") else "",
        # Old drivers have a single node for both parts of such a chip.
        integrated=arch in _integrated() or (arch != "gfx942" and bool(values.get("cpu_cores_count"))),
        atomics=not any(link.get("flags", 0) & _NO_ATOMICS == _NO_ATOMICS for link in over_pcie),
    )


def _values(text: str) -> dict[str, int]:
    words = (line.split() for line in text.splitlines())
    return {each[0]: int(each[1]) for each in words if len(each) == 2 and each[1].isdigit()}


def _text(path: Path) -> str:
    try:
        return reading.read(path).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _on_bus(root: Path) -> Iterator[tuple[str, str]]:
    for device in sorted((root / "sys/bus/pci/devices").glob("*")):
        if _text(device / "class").startswith(_GPU_CLASSES):
            yield _text(device / "vendor"), device.name


def _driver(root: Path) -> str | None:
    """The version of the module, "" for the kernel's own, None if none is loaded."""
    module = root / "sys/module/amdgpu"
    return _text(module / "version") if module.is_dir() or (root / NODES).is_dir() else None


def _devices(root: Path, user: User, groups: Mapping[int, str], here: bool) -> Iterator[Device]:
    for path in (root / "dev/kfd", *sorted((root / "dev/dri").glob("renderD*"))):
        try:
            state = path.stat()
        except OSError:
            continue
        mode = S_IMODE(state.st_mode)
        usable = user.uid == 0 or mode & 0o006 == 0o006
        usable = usable or (user.uid == state.st_uid and mode & 0o600 == 0o600)
        usable = usable or (state.st_gid in user.groups and mode & 0o060 == 0o060)
        # The user at the console may have access by an ACL, which the mode does not show.
        usable = usable or (here and os.access(path, os.R_OK | os.W_OK))
        yield Device(f"/{path.relative_to(root)}", groups.get(state.st_gid, ""), state.st_gid, usable)


def _groups(root: Path) -> dict[int, str]:
    rows = (line.split(":") for line in _text(root / "etc/group").splitlines())
    return {int(row[2]): row[0] for row in rows if len(row) >= 3 and row[2].isdigit()}


def _account(root: Path, uid: int, groups: Mapping[int, str]) -> tuple[str, tuple[str, ...]]:
    """The user's name, and the groups after the next login."""
    rows = [line.split(":") for line in _text(root / "etc/passwd").splitlines()]
    mine = next((row for row in rows if len(row) >= 4 and row[2] == str(uid)), None)
    if mine is None:
        return str(uid), ()
    lists = (line.split(":") for line in _text(root / "etc/group").splitlines())
    listed = [row[0] for row in lists if len(row) >= 4 and mine[0] in row[3].split(",")]
    first = groups.get(int(mine[3])) if mine[3].isdigit() else None
    return mine[0], tuple([first, *listed] if first else listed)


def _container(root: Path, env: Mapping[str, str]) -> str:
    if (root / "run/.containerenv").exists():
        return "podman"
    if "KUBERNETES_SERVICE_HOST" in env:
        return "kubernetes"
    if (root / ".dockerenv").exists():
        return "docker"
    found = re.search(r"kubepods|docker|libpod|lxc", _text(root / "proc/1/cgroup"))
    return {"kubepods": "kubernetes", "libpod": "podman"}.get(found[0], found[0]) if found else ""


def _iommu(root: Path, addresses: list[str]) -> str | None:
    """Return the IOMMU's mode for the GPUs: from their groups if the kernel shows them, else from its command line.

    Documentation/ABI/testing/sysfs-kernel-iommu_groups: `identity` is passthrough; `DMA` and `DMA-FQ` are translated.
    """
    types = {_text(root / f"sys/bus/pci/devices/{address}/iommu_group/type") for address in addresses} - {""}
    if types:
        return "passthrough" if types == {"identity"} else "translated"
    if (root / "sys/class/iommu").is_dir() and not any((root / "sys/class/iommu").iterdir()):
        return "off"
    words = _text(root / "proc/cmdline").split()
    if not words:
        return None
    if {"iommu=off", "amd_iommu=off", "intel_iommu=off"} & set(words):
        return "off"
    if {"iommu=pt", "iommu.passthrough=1"} & set(words):
        return "passthrough"
    return "translated" if (root / "sys/class/iommu").is_dir() else None


def _shared_memory(root: Path) -> int | None:
    for line in _text(root / "proc/mounts").splitlines():
        words = line.split()
        size = re.search(r"\bsize=(\d+)([kmg]?)", words[3]) if len(words) > 3 and words[1] == "/dev/shm" else None
        if size:
            return int(size[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[size[2]]
    return None


def _rocm(root: Path, env: Mapping[str, str]) -> str:
    for folder in (*(env[name] for name in ("ROCM_PATH", "ROCM_HOME") if env.get(name)), "/opt/rocm"):
        version = re.match(r"\d+\.\d+(?:\.\d+)?", _text(root / folder.lstrip("/") / ".info/version"))
        if version:
            return version[0]
    return ""


def _nvcc(root: Path, env: Mapping[str, str]) -> str:
    """The nvcc that builds would find: through CUDA_HOME or CUDA_PATH, on PATH, or in CUDA's default folder."""
    folders = [f"{env[name]}/bin" for name in ("CUDA_HOME", "CUDA_PATH") if env.get(name)]
    folders += env.get("PATH", "").split(os.pathsep)
    for folder in (*folders, "/usr/local/cuda/bin"):
        if folder.startswith("/") and reading.is_file(root / folder[1:] / "nvcc"):
            return f"{folder}/nvcc"
    return ""


def _ask(tool: str, arguments: str, env: Mapping[str, str]) -> str | None:
    """Return the output of a ROCm tool; None if it is missing or does not answer."""
    roots = [env[name] for name in ("ROCM_PATH", "ROCM_HOME") if env.get(name)]
    path = os.pathsep.join([*(f"{root}/bin" for root in roots), env.get("PATH", ""), "/opt/rocm/bin"])
    found = shutil.which(tool, path=path)
    return _run([found, *arguments.split()], env) if found else None


def _run(command: list[str], env: Mapping[str, str]) -> str | None:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(env),
            cwd="/", timeout=60.0, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip()


def _agents(rocminfo: str) -> tuple[tuple[str, int], ...]:
    """The agents in rocminfo's output that can run kernels, with their wavefront sizes."""
    found = []
    for block in re.split(r"^\*+\s*\nAgent \d+", rocminfo, flags=re.MULTILINE)[1:]:
        name = re.search(r"^\s*Name:\s+(gfx\w+)", block, re.MULTILINE)
        lanes = re.search(r"^\s*Wavefront Size:\s+(\d+)", block, re.MULTILINE)
        if name and lanes and "KERNEL_DISPATCH" in block:
            found.append((name[1], int(lanes[1])))
    return tuple(found)


# Run by the interpreter that has PyTorch. A sum on each GPU is the least proof that kernels run.
_TORCH = """
import json
try:
    import torch
except ImportError as error:
    print(json.dumps({"problem": f"{type(error).__name__}: {error}"}))
    raise SystemExit
said = {"version": torch.__version__, "hip": torch.version.hip or "", "cuda": torch.version.cuda or ""}
try:
    said["archs"] = torch._C._cuda_getArchFlags().split() if said["hip"] or said["cuda"] else []
except Exception:
    said["archs"] = []
said["ran"] = []
try:
    for index in range(torch.cuda.device_count()):
        values = torch.ones(1000, device=f"cuda:{index}")
        if (values + values).sum().item() != 2000:
            said["failed"] = f"the sum on cuda:{index} is wrong"
        said["ran"].append(torch.cuda.get_device_name(index))
except Exception as error:
    said["failed"] = f"{type(error).__name__}: {error}".splitlines()[0]
print("\\n" + json.dumps(said))
"""


def torch_of(python: Path, env: Mapping[str, str]) -> Torch:
    """Ask the PyTorch of an interpreter for its architectures, and let it add numbers on each GPU."""
    try:
        _, said, wrong = ask_python(python, _TORCH, env, 180.0)
    except OSError:
        said = wrong = ""
    last = (said.strip() or wrong.strip()).rpartition("\n")[2]
    try:
        values = json.loads(last)
    except ValueError:
        return Torch(str(python), problem=last or f"{python} could not be run, or did not answer")
    archs, ran = tuple(values.pop("archs", ())), tuple(values.pop("ran", ()))
    return Torch(str(python), archs=archs, ran=ran, **values)
