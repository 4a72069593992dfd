# SPDX-License-Identifier: Apache-2.0
"""Code that python_gates writes is run: with CUDA as before, and on ROCm with the documented results."""

import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import hipport
from hipport.engine.outcomes import Ported
from hipport.engine.pipeline import run
from hipport.program.project import Project, Target
from hipport.syntax.python_script import Python
from hipport_passes.python import python_gates

FIXTURES = Path(__file__).parent.parent / "fixtures" / "python_gates"

NVIDIA = [(5, 2), (7, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (10, 3), (11, 0), (12, 0), (12, 1)]
AMD = [(9, 0), (9, 4), (9, 5), (10, 3), (11, 0), (11, 5), (12, 0)]


def ported(text: str, *others: str) -> Ported:
    files = [Python(PurePosixPath("program.py"), text.encode())]
    files += [Python(PurePosixPath(other), b"") for other in others]
    return run(Project(tuple(files), Target()), (python_gates.PASS,))


def after(text: str) -> str:
    return ported(text).project.sources[0].text.decode()


def fake_torch(capability: tuple[int, int], *, cuda: str | None = None, hip: str | None = None) -> Any:
    properties = SimpleNamespace(major=capability[0], minor=capability[1])
    return SimpleNamespace(
        version=SimpleNamespace(cuda=cuda, hip=hip),
        cuda=SimpleNamespace(
            get_device_capability=lambda *_: capability, get_device_properties=lambda *_: properties, is_available=bool
        ),
    )


def value(text: str, torch: Any) -> Any:
    code = text.replace("import torch\n", "")
    names = {"torch": torch, "on": True, "off": False}
    exec(compile(code, "program.py", "exec"), names)
    return names["x"]


CAPABILITY = "torch.cuda.get_device_capability()"


@pytest.mark.parametrize(
    "test",
    [
        f"{CAPABILITY} >= (9, 0)",
        f"{CAPABILITY}[0] >= 9 and on",
        f"off or {CAPABILITY}[0] == 9",
        f"not {CAPABILITY}[0] in (9, 10)",
        f"on and {CAPABILITY} < (9, 0)",
        f"{CAPABILITY}[0] != 10 or off",
        f"{CAPABILITY}[0] * 10 + {CAPABILITY}[1] not in [90, 100]",
        f"8 < {CAPABILITY}[0] <= 12",
        f"1 if {CAPABILITY}[0] > 8 else 2",
        f"(1 if {CAPABILITY} <= (8, 9) else 2) + 1",
        f"[each for each in (1, 2) if {CAPABILITY}[0] >= 9]",
        f"({CAPABILITY}[0] >= 9) == on",
        f"{CAPABILITY}[0] >= 9 == on",
        f"100 <= {CAPABILITY}[0] * 10 + {CAPABILITY}[1]",
        "torch.cuda.get_device_properties(0).major == 12",
        "float(f'{torch.cuda.get_device_properties(0).major}.{torch.cuda.get_device_properties(0).minor}') >= 8.9",
    ],
)
def test_a_capability_is_unchanged_with_cuda_and_equal_on_all_amd_gpus(test: str) -> None:
    before = f"import torch\nx = {test}\n"
    text = after(before)
    for capability in NVIDIA:
        torch = fake_torch(capability, cuda="12.8")
        assert value(text, torch) == value(before, torch), capability
    if text != before:
        found = {repr(value(text, fake_torch(capability, hip="6.4"))) for capability in AMD}
        older = repr(value(before, fake_torch((8, 0), cuda="12.8")))
        assert found == {older} or "==" in test


@pytest.mark.parametrize(
    "expression",
    [
        'torch.version.cuda.split(".")[0]',
        "float(torch.version.cuda)",
        'torch.version.cuda >= "11.8"',
        'tuple(map(int, torch.version.cuda.split(".")))',
        '"12" in torch.version.cuda',
        'torch.version.cuda[:2] + "-" + torch.version.cuda',
    ],
)
def test_the_release_is_unchanged_with_cuda_and_does_not_raise_on_rocm(expression: str) -> None:
    before = f"import torch\nx = {expression}\n"
    text = after(before)
    for release in ("11.8", "12.8", "13.0"):
        torch = fake_torch((8, 0), cuda=release)
        assert value(text, torch) == value(before, torch)
    with pytest.raises((AttributeError, TypeError)):
        value(before, fake_torch((9, 4), hip="6.4"))
    value(text, fake_torch((9, 4), hip="6.4"))


def test_modules_of_the_project_are_not_missing() -> None:
    assert ported("import cupy\n").reported
    assert not ported("import cupy\n", "cupy/__init__.py").reported
    assert not ported("import cupy\n", "lib/cupy.py").reported


def test_a_file_that_only_asks_a_package_for_hopper_is_read(tmp_path: Path) -> None:
    text = "from kernels.utils import is_sm90_supported\nfast = is_sm90_supported()\n"
    (tmp_path / "fast.py").write_text(text)
    (tmp_path / "k.cu").write_text("__global__ void k() {}\n")
    assert "python_gates/not_followed" in {each.rule for each in hipport.rewrite([tmp_path], jobs=1).reported}
    assert not ported(text, "kernels/utils.py").reported


@pytest.fixture
def attention(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, Any]]:
    """Return a function that runs a fixture's text on a PyTorch for ROCm without a package for attention."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.version, "hip", "6.4")
    for name in ("flash_attn", "xformers"):
        monkeypatch.setitem(sys.modules, name, None)

    def execute(text: str) -> dict[str, Any]:
        names: dict[str, Any] = {}
        exec(compile(text, "program.py", "exec"), names)
        return names

    return execute


def attended(q: Any, k: Any, v: Any, bias: Any = 0, scale: float | None = None) -> Any:
    """Return attention by its definition, of [batch, sequence, heads, features]."""
    import torch

    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale) + bias
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v)


def test_the_replacement_of_flash_attn_is_attention(attention: Callable[[str], dict[str, Any]]) -> None:
    import torch

    text = "import flash_attn\n" + "".join(
        f"flash_attn.{name}({', '.join('abcdefg'[:count])})\n"
        for name, count in (
            ("flash_attn_func", 3),
            ("flash_attn_qkvpacked_func", 1),
            ("flash_attn_varlen_func", 7),
            ("flash_attn_varlen_qkvpacked_func", 3),
        )
    )
    text = after(text)
    flash = attention(text[: text.index("\nflash_attn.flash")])["flash_attn"]
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 5, 4, 8), torch.randn(2, 7, 2, 8), torch.randn(2, 7, 2, 8)
    every = [x.repeat_interleave(2, 2) for x in (k, v)]
    torch.testing.assert_close(flash.flash_attn_func(q, k, v), attended(q, *every))
    # Aligned to the last key: the first of five queries sees three keys of seven.
    hidden = torch.full((5, 7), float("-inf")).triu(3)
    result = flash.flash_attn_func(q, k, v, softmax_scale=0.3, causal=True)
    torch.testing.assert_close(result, attended(q, *every, hidden, 0.3))
    assert result.is_contiguous()
    qkv = torch.randn(2, 6, 3, 4, 8)
    hidden = torch.full((6, 6), float("-inf")).triu(1)
    expected = attended(*qkv.unbind(2), hidden)
    torch.testing.assert_close(flash.flash_attn_qkvpacked_func(qkv, causal=True), expected)
    lengths = torch.tensor([0, 6, 12], dtype=torch.int32)
    packed = flash.flash_attn_varlen_qkvpacked_func(qkv.flatten(0, 1), lengths, 6, causal=True)
    torch.testing.assert_close(packed, expected.flatten(0, 1))
    others = torch.tensor([0, 7, 14], dtype=torch.int32)
    apart = flash.flash_attn_varlen_func(
        q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1), torch.tensor([0, 5, 10]), others, 5, 7
    )
    torch.testing.assert_close(apart, attended(q, *every).flatten(0, 1))


def test_the_replacement_inside_of_a_function_is_attention(attention: Callable[[str], dict[str, Any]]) -> None:
    import torch

    names = attention((FIXTURES / "attention_in_function.after.py").read_text())
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 5, 4, 8), torch.randn(2, 5, 4, 8), torch.randn(2, 5, 4, 8)
    hidden = torch.full((5, 5), float("-inf")).triu(1)
    module = names["Attention"]()
    module.fast = True
    torch.testing.assert_close(module.forward(torch.stack((q, k, v), 2)), attended(q, k, v, hidden))
    torch.testing.assert_close(module.other(q, k, v), attended(q, k, v, hidden) + attended(q, k, v))


def test_the_replacement_of_xformers_is_attention(attention: Callable[[str], dict[str, Any]]) -> None:
    import torch

    text = after("import xformers.ops as xops\nx = lambda q: xops.memory_efficient_attention(q, q, q)\n")
    xops = attention(text)["xops"]
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 5, 4, 8), torch.randn(2, 7, 4, 8), torch.randn(2, 7, 4, 8)
    bias = torch.randn(2, 4, 5, 7)
    torch.testing.assert_close(xops.memory_efficient_attention(q, k, v), attended(q, k, v))
    result = xops.memory_efficient_attention(q, k, v, attn_bias=bias, scale=0.3, op=None)
    torch.testing.assert_close(result, attended(q, k, v, bias, 0.3))
    flat = xops.memory_efficient_attention(q[:, :, 0], k[:, :, 0], v[:, :, 0])
    torch.testing.assert_close(flat, attended(q[:, :, :1], k[:, :, :1], v[:, :, :1])[:, :, 0])
    with pytest.raises(NotImplementedError):
        xops.memory_efficient_attention(q[None], k[None], v[None])


def test_a_missing_package_is_still_missing_with_cuda(
    attention: Callable[[str], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(torch.version, "hip", None)
    with pytest.raises(ImportError):
        attention((FIXTURES / "attention.after.py").read_text())


def test_an_installed_package_is_used(
    attention: Callable[[str], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ModuleType("flash_attn")
    monkeypatch.setitem(sys.modules, "flash_attn", real)
    assert attention((FIXTURES / "attention_packed.after.py").read_text())["flash_attn"] is real


def test_functions_that_all_call_each_other() -> None:
    """The paths through such a program are too many to count: thirty functions, each of which calls all others."""
    names = [f"step_{i}" for i in range(30)]
    calls = "".join(f"    {name}(n)\n" for name in names)
    text = "import torch\n" + "".join(f"def {name}(n):\n{calls}" for name in names)
    gate = "    if torch.cuda.get_device_capability()[0] >= 9:\n        print(n)\n"
    text = text.replace(calls, calls + gate, 1) + "step_3(4)\n"
    changed = [line for line in after(text).splitlines() if line not in text.splitlines()]
    assert len(changed) == 1 and "get_device_capability" in changed[0]
