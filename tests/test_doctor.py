# SPDX-License-Identifier: Apache-2.0
"""`hipport doctor` on machines that are folders: what it sees, and what it reports."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from hipport.cli import main
from hipport.core import reading
from hipport.reporting import report
from hipport.toolchain import toolchains
from hipport.toolchain.diagnosis import Diagnosis, Status, diagnose, visible
from hipport.toolchain.machine import Machine, Torch, User, arch_of, look
from hipport.toolchain.toolchains import Toolchain

HIPCC = Toolchain(Path("/opt/rocm/bin/hipcc"), (6, 4, 43482), "19.0.0", frozenset({"gfx942", "gfx1100"}), "/opt")
TORCH = Torch("python", "2.6.0+rocm6.4", "6.4.43482-0f2d60242", archs=("gfx942", "gfx1100"), ran=("a GPU",))


class Fake:
    """A machine made of files. `machine` is what `look` sees of it; tools, which are not run, have fixed answers."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.env: dict[str, str] = {}
        self.user = User(1000, (1000, 44, 110))
        self.write("etc/passwd", "root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n")
        self.write("etc/group", "root:x:0:\nada:x:1000:\nvideo:x:44:ada\nrender:x:110:ada\n")
        self.write("proc/sys/kernel/osrelease", "6.8.0-60-generic\n")
        self.write("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro iommu=pt\n")
        self.write("proc/self/status", "Name:\tpython\nSeccomp:\t0\n")
        (self.root / "sys/class/iommu/ivhd0").mkdir(parents=True)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def gpu(self, version: int, node: int, wave: int = 64, flags: int = 1, link: int = 2, units: int = 304) -> None:
        """Add a GPU in KFD's files, with its link to the CPU of node 0."""
        nodes = "sys/class/kfd/kfd/topology/nodes"
        self.write(f"{nodes}/0/properties", "cpu_cores_count 64\nsimd_count 0\ngfx_target_version 0\n")
        self.write(
            f"{nodes}/{node}/properties",
            f"cpu_cores_count 0\nsimd_count {units * 4}\nsimd_per_cu 4\nwave_front_size {wave}\n"
            f"gfx_target_version {version}\nvendor_id 4098\ndomain 0\nlocation_id {node << 8}\n"
            f"drm_render_minor {127 + node}\nunique_id {0xABC0 + node}\n",
        )
        self.write(f"{nodes}/{node}/mem_banks/0/properties", "heap_type 1\nsize_in_bytes 206141652992\n")
        self.write(
            f"{nodes}/{node}/io_links/0/properties", f"type {link}\nnode_from {node}\nnode_to 0\nflags {flags}\n"
        )
        self.write(f"sys/bus/pci/devices/0000:{node:02x}:00.0/class", "0x030000\n")
        self.write(f"sys/bus/pci/devices/0000:{node:02x}:00.0/vendor", "0x1002\n")
        self.write("sys/module/amdgpu/version", "6.12.12\n")
        for name in ("dev/kfd", f"dev/dri/renderD{127 + node}"):
            self.write(name, "").chmod(0o666)

    @property
    def machine(self) -> Machine:
        seen = look(self.root, self.env, self.user)
        return replace(seen, toolchains=(HIPCC,), torch=TORCH) if seen.gpus else seen

    def said(self, **more: object) -> list[tuple[str, str]]:
        """Return the problems, by the name of their check."""
        checks = diagnose(replace(self.machine, **more)).checks  # type: ignore[arg-type]
        return [(c.name, str(c.status)) for c in checks if c.status not in (Status.OK, Status.UNKNOWN)]


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path)


def text(diagnosis: Diagnosis) -> str:
    return report.diagnosis_as_text(diagnosis)


@pytest.mark.parametrize(
    ("version", "arch"),
    [
        (90402, "gfx942"),
        (90010, "gfx90a"),
        (110000, "gfx1100"),
        (110501, "gfx1151"),
        (120001, "gfx1201"),
        (90012, "gfx90c"),
    ],
)
def test_names_of_processors(version: int, arch: str) -> None:
    assert arch_of(version) == arch


def test_a_healthy_machine_with_eight_gpus(fake: Fake) -> None:
    for node in range(1, 9):
        fake.gpu(90402, node)
    assert fake.said() == []
    seen = diagnose(fake.machine)
    assert seen.ok
    gpu = seen.machine.gpus[0]
    assert (gpu.arch, gpu.wavefront, gpu.units, gpu.memory >> 30) == ("gfx942", 64, 304, 191)
    assert (gpu.address, gpu.render, gpu.uuid) == ("0000:01:00.0", "renderD128", "GPU-000000000000abc1")
    assert "8 GPUs; the IOMMU is pass through" in text(seen) and "ada may use /dev/dri/renderD128" in text(seen)
    assert "amdgpu 6.12.12, of ROCm 6.4" in text(seen)
    assert text(seen).endswith("\nnothing found that would break a run; 1 check could not be made\n")


def test_a_radeon(fake: Fake) -> None:
    fake.gpu(110000, 1, wave=32, units=96)
    fake.write("proc/cmdline", "ro quiet")
    assert fake.said() == []
    assert "gfx1100 at 0000:01:00.0 (96 compute units, wavefront 32, 192 GiB)" in text(diagnose(fake.machine))


def test_no_gpu(fake: Fake) -> None:
    fake.write("sys/bus/pci/devices/0000:09:00.0/class", "0x030200\n")
    fake.write("sys/bus/pci/devices/0000:09:00.0/vendor", "0x10de\n")
    diagnosis = diagnose(fake.machine)
    assert fake.said() == [("gpus", "problem"), ("arch list", "warning")]
    assert "no AMD GPU (NVIDIA's at 0000:09:00.0)" in text(diagnosis) and not diagnosis.ok
    fake.env["PYTORCH_ROCM_ARCH"] = "gfx942"
    assert fake.said() == [("gpus", "problem")]


def test_a_gpu_without_its_driver(fake: Fake) -> None:
    fake.write("sys/bus/pci/devices/0000:03:00.0/class", "0x120000\n")
    fake.write("sys/bus/pci/devices/0000:03:00.0/vendor", "0x1002\n")
    assert fake.said()[:2] == [("gpus", "problem"), ("devices", "problem")]
    assert "0000:03:00.0 on the PCI bus" in text(diagnose(fake.machine))


def test_an_integrated_gpu_beside_another(fake: Fake) -> None:
    fake.gpu(110000, 1, wave=32)
    fake.gpu(110501, 2, wave=32, units=40)
    assert fake.said() == [("integrated", "problem")]
    assert "export ROCR_VISIBLE_DEVICES=0\n" in text(diagnose(fake.machine))
    fake.env["ROCR_VISIBLE_DEVICES"] = "0"
    assert fake.said() == [("visible", "note"), ("integrated", "note")]
    fake.env["ROCR_VISIBLE_DEVICES"] = "GPU-000000000000ABC2"
    assert [name for name, _ in fake.said() if name == "integrated"] == []


def test_an_integrated_gpu_alone_and_an_old_pytorch(fake: Fake) -> None:
    fake.gpu(110501, 1, wave=32)
    new = replace(TORCH, hip="7.0.1", archs=("gfx1151",))
    hipcc = replace(HIPCC, hip=(7, 0, 1), archs=frozenset({"gfx1151"}))
    assert fake.said(torch=new, toolchains=(hipcc,)) == []
    old = replace(TORCH, archs=("gfx1100", "gfx1151"))
    assert fake.said(torch=old, toolchains=(replace(hipcc, hip=(6, 4, 0)),)) == [("torch", "warning")]


def test_a_container_that_was_given_no_gpu(fake: Fake) -> None:
    fake.gpu(90402, 1)
    fake.write(".dockerenv", "")
    (fake.root / "dev/kfd").unlink()
    (fake.root / "dev/dri/renderD128").unlink()
    assert fake.said() == [("devices", "problem")]
    said = text(diagnose(fake.machine))
    assert "a container (docker) without /dev/dri/renderD128, /dev/kfd" in said
    assert "--device=/dev/kfd --device=/dev/dri --ipc=host --group-add video --group-add render" in said


def test_a_container_that_may_use_none_of_the_host_s_gpus(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.gpu(90402, 1)
    read = reading.read

    def refused(path: Path) -> bytes:
        # As with the driver; the mode of the file would not stop a test that runs as root.
        if path.name == "properties" and path.parent.name == "1":
            raise PermissionError(1, "Operation not permitted")
        return read(path)

    monkeypatch.setattr(reading, "read", refused)
    fake.env["KUBERNETES_SERVICE_HOST"] = "10.0.0.1"
    assert fake.said()[0] == ("gpus", "problem")
    assert "amd.com/gpu" in text(diagnose(fake.machine))


def test_a_container_with_little_shared_memory_and_filtered_calls(fake: Fake) -> None:
    fake.gpu(90402, 1)
    fake.write("proc/1/cgroup", "0::/system.slice/docker-0123.scope\n")
    fake.write("proc/mounts", "overlay / overlay rw 0 0\nshm /dev/shm tmpfs rw,nosuid,size=65536k 0 0\n")
    fake.write("proc/self/status", "Seccomp:\t2\n")
    assert fake.said() == [("container", "warning"), ("container", "note")]
    assert "/dev/shm has 64 MiB" in text(diagnose(fake.machine))
    fake.write("proc/mounts", "shm /dev/shm tmpfs rw,nosuid,size=16g 0 0\n")
    assert fake.said() == [("container", "note")]


def test_who_may_use_the_devices(fake: Fake) -> None:
    fake.gpu(90402, 1)
    kfd = fake.root / "dev/kfd"
    kfd.chmod(0o660)
    theirs = kfd.stat()
    fake.write("etc/group", f"ada:x:1000:\nrender:x:{theirs.st_gid}:\n")
    fake.user = User(theirs.st_uid + 1, (theirs.st_gid + 1,))
    fake.write("etc/passwd", f"ada:x:{theirs.st_uid + 1}:1000::/home/ada:/bin/sh\n")
    assert fake.said() == [("devices", "problem")]
    assert "ada may not use /dev/kfd (render)" in text(diagnose(fake.machine))
    assert "sudo usermod -aG render,video ada" in text(diagnose(fake.machine))
    fake.write("etc/group", f"ada:x:1000:\nrender:x:{theirs.st_gid}:ada\n")
    assert "log out and in again" in text(diagnose(fake.machine))
    fake.user = User(theirs.st_uid + 1, (theirs.st_gid,))
    assert ("devices", "problem") not in fake.said()
    fake.user = User(theirs.st_uid + 1, ())
    fake.write(".dockerenv", "")
    assert f"--group-add {theirs.st_gid}" in text(diagnose(fake.machine))


def test_two_gpus_and_the_iommu(fake: Fake) -> None:
    fake.gpu(110000, 1, wave=32)
    fake.write("proc/cmdline", "ro quiet")
    assert fake.said() == []
    fake.gpu(110000, 2, wave=32)
    assert fake.said() == [("iommu", "problem")]
    # The kernel's groups of GPUs take precedence over its command line.
    for node in (1, 2):
        fake.write(f"sys/bus/pci/devices/0000:0{node}:00.0/iommu_group/type", "identity\n")
    assert fake.said() == []
    fake.write("sys/bus/pci/devices/0000:02:00.0/iommu_group/type", "DMA-FQ\n")
    fake.write("proc/cmdline", "ro iommu=pt")
    assert fake.said() == [("iommu", "problem")]
    for node in (1, 2):
        (fake.root / f"sys/bus/pci/devices/0000:0{node}:00.0/iommu_group/type").unlink()
    (fake.root / "sys/class/iommu/ivhd0").rmdir()
    fake.write("proc/cmdline", "ro")
    assert fake.said() == []


def test_pcie_atomics(fake: Fake) -> None:
    fake.gpu(110000, 1, wave=32, flags=0b1101)
    assert fake.said() == [("atomics", "warning")]
    fake.gpu(110000, 1, wave=32, flags=0b0001)
    assert fake.said() == []
    # Not over PCIe: the link of a GPU that is connected to the CPU by XGMI.
    fake.gpu(90402, 1, flags=0b1101, link=11)
    assert fake.said() == []


@pytest.mark.parametrize(
    ("version", "value", "status"),
    [
        (110001, "11.0.0", "warning"),
        (110000, "11.0.0", "note"),
        (110000, "10.3.0", "problem"),
        (90402, "9.0.0", "problem"),
        (110000, "gfx1100", "problem"),
    ],
)
def test_a_gpu_with_an_overridden_architecture(fake: Fake, version: int, value: str, status: str) -> None:
    fake.gpu(version, 1)
    fake.env["HSA_OVERRIDE_GFX_VERSION"] = value
    said = [(name, status) for name, status in fake.said() if name == "override"]
    assert said == [("override", status)]


def test_code_for_an_overridden_architecture_is_that_of_the_override(fake: Fake) -> None:
    fake.gpu(110001, 1, wave=32)
    assert [name for name, _ in fake.said()] == ["hipcc", "torch"]
    fake.env = {"HSA_OVERRIDE_GFX_VERSION": "11.0.0", "PYTORCH_ROCM_ARCH": "gfx1100"}
    assert fake.said() == [("override", "warning")]


def test_visible_gpus(fake: Fake) -> None:
    for node in (1, 2, 3):
        fake.gpu(90402, node)

    def nodes(**env: str) -> list[int]:
        fake.env = env
        return [gpu.node for gpu in visible(fake.machine)[0]]

    assert nodes() == [1, 2, 3]
    assert nodes(ROCR_VISIBLE_DEVICES="2,GPU-000000000000abc1", HIP_VISIBLE_DEVICES="1") == [1]
    assert nodes(CUDA_VISIBLE_DEVICES="0,7,1") == [1]
    assert nodes(CUDA_VISIBLE_DEVICES="0", HIP_VISIBLE_DEVICES="2") == [3]
    assert nodes(HIP_VISIBLE_DEVICES="-1") == []
    assert [check for check in fake.said() if check[0] == "visible"] == [("visible", "problem")]


def test_architectures_of_extensions(fake: Fake) -> None:
    fake.gpu(110000, 1, wave=32)
    fake.env["PYTORCH_ROCM_ARCH"] = "gfx90a;gfx942:xnack+"
    assert fake.said() == [("arch list", "problem")]
    assert 'export PYTORCH_ROCM_ARCH="gfx90a;gfx942;gfx1100"' in text(diagnose(fake.machine))
    for enough in ("gfx942 gfx1100", "gfx11-generic"):
        fake.env["PYTORCH_ROCM_ARCH"] = enough
        assert fake.said() == []


def test_nvcc_beside_rocm(fake: Fake) -> None:
    fake.gpu(90402, 1)
    fake.write("usr/local/cuda/bin/nvcc", "")
    fake.env["CUDA_HOME"] = "/usr/local/cuda"
    assert fake.said() == [("platform", "warning")]
    assert "unset CUDA_HOME; export HIP_PLATFORM=amd" in text(diagnose(fake.machine))
    assert fake.said(platform="nvidia") == [("platform", "problem")]
    fake.env["HIP_PLATFORM"] = "amd"
    assert fake.said(platform="amd") == [("platform", "note")]
    fake.env["HIP_PLATFORM"] = "nvidia"
    assert ("platform", "problem") in fake.said()


def test_folders_that_may_not_be_looked_into_hold_nothing(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read all of them: here the system refuses."""
    asked = []
    stat = os.stat

    def refuses(path: str | Path, **more: bool | int | None) -> os.stat_result:
        if "closed" in str(path):
            asked.append(str(path))
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, **more)  # type: ignore[arg-type]

    fake.env |= {"PATH": "/closed", "CUDA_HOME": "/closed", "ROCM_PATH": "/closed"}
    monkeypatch.setattr(os, "stat", refuses)
    assert fake.machine.nvcc == ""
    toolchains.find({**fake.env, "HOME": str(fake.root)})
    assert any("nvcc" in each for each in asked) and any("hipcc" in each for each in asked)


def test_the_pytorch_of_an_interpreter(fake: Fake) -> None:
    fake.gpu(90402, 1)
    cuda = Torch("python", "2.6.0+cu124", cuda="12.4")
    assert fake.said(torch=cuda) == [("torch", "problem")]
    assert fake.said(torch=Torch("python", problem="no module named torch")) == [("torch", "note")]
    assert fake.said(torch=replace(TORCH, archs=("gfx90a",))) == [("torch", "problem")]
    assert fake.said(torch=replace(TORCH, ran=(), failed="HIP error: out of memory")) == [("torch", "problem")]
    assert fake.said(torch=replace(TORCH, ran=())) == [("torch", "problem")]
    # On a machine without AMD's GPUs, a PyTorch for another vendor is not a problem.
    assert ("torch", "problem") not in [
        (c.name, str(c.status)) for c in diagnose(replace(fake.machine, gpus=(), torch=cuda)).checks
    ]


def test_versions_that_differ(fake: Fake) -> None:
    fake.gpu(90402, 1)
    assert fake.said(torch=replace(TORCH, hip="6.3.42131")) == [("versions", "warning")]
    assert fake.said(torch=replace(TORCH, hip="7.0.2")) == [("versions", "problem")]
    assert fake.said(torch=replace(TORCH, hip="5.7.1")) == [("driver", "warning"), ("versions", "problem")]
    fake.write("opt/rocm/.info/version", "6.4.1-83\n")
    assert fake.said() == []
    fake.write("opt/rocm/.info/version", "6.2.0-66\n")
    assert fake.said() == [("versions", "warning")]
    assert fake.said(toolchains=()) == [("hipcc", "problem")]
    assert fake.said(toolchains=(replace(HIPCC, archs=frozenset({"gfx1100"})),))[0] == ("hipcc", "problem")


ROCMINFO = """\
ROCk module is loaded
*******
Agent 1
*******
  Name:                    AMD EPYC 9654 96-Core Processor
  Feature:                 None specified
*******
Agent 2
*******
  Name:                    gfx942
  Feature:                 KERNEL_DISPATCH
  Wavefront Size:          64(0x40)
"""


def test_the_output_of_rocminfo(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    from hipport.toolchain import machine

    fake.gpu(90402, 1)
    agents = machine._agents(ROCMINFO)
    assert agents == (("gfx942", 64),)
    assert fake.said(rocminfo=ROCMINFO, agents=agents) == []
    assert fake.said(rocminfo="Unable to open /dev/kfd read-write: Permission denied", agents=()) == [
        ("runtime", "problem")
    ]
    fake.gpu(90402, 2)
    assert fake.said(rocminfo=ROCMINFO, agents=agents) == [("runtime", "warning")]


def test_linux_inside_windows(fake: Fake) -> None:
    fake.write("dev/dxg", "")
    assert ("gpus", "problem") in fake.said()
    assert ("gpus", "problem") not in fake.said(rocminfo=ROCMINFO, agents=(("gfx1100", 32),))


def test_the_command_line(fake: Fake) -> None:
    fake.gpu(90402, 1)
    for path in ("dev/kfd", "dev/dri/renderD128"):
        (fake.root / path).chmod(0o666)
    env = {"PATH": "/usr/bin:/bin", "HIP_VISIBLE_DEVICES": "", "PYTORCH_ROCM_ARCH": "gfx942"}
    asked = CliRunner().invoke(main, ["doctor", "--root", str(fake.root)], env=env)
    assert asked.exit_code == 0, asked.output
    assert "nothing of another machine is run" in asked.output
    fake.gpu(90402, 2)
    fake.write("proc/cmdline", "ro")
    asked = CliRunner().invoke(main, ["doctor", "--root", str(fake.root), "--format", "json"], env=env)
    assert asked.exit_code == 1
    document = json.loads(asked.output)
    assert document["ok"] is False and [gpu["arch"] for gpu in document["gpus"]] == ["gfx942", "gfx942"]
    assert [c["name"] for c in document["checks"] if c["status"] == "problem"] == ["iommu"]
    assert CliRunner().invoke(main, ["doctor", "--root", str(fake.root / "none")], env=env).exit_code == 2
