# SPDX-License-Identifier: Apache-2.0
"""Build systems that hipport does not port are reported where they compile CUDA, and not for what comments say."""

import pytest

import hipport


@pytest.mark.parametrize(
    ("name", "text", "comment"),
    [
        ("app/a.vcxproj", '<Project><ItemGroup><CudaCompile Include="a.cu" /></ItemGroup></Project>\n', "<!-- {} -->"),
        ("b.vcxproj", '<Import Project="$(VCTargetsPath)\\BuildCustomizations\\CUDA 12.2.props" />\n', "<!-- {} -->"),
        ("premake5.lua", 'files { "src/a.cu" }\n', "-- {}"),
        ("wscript", "cfg.find_program('nvcc')\n", "# {}"),
        ("src/BUILD.gn", 'sources = [ "a.cu" ]\n', "# {}"),
        ("csrc/BUCK", 'cuda_library(name = "kernels")\n', "# {}"),
        ("build.zig", 'const run = b.addSystemCommand(&.{ "nvcc", "-c", "a.cu" });\n', "// {}"),
        ("binding.gyp", '{"libraries": ["-L/usr/local/cuda/lib64", "-lcudart"]}\n', "# {}"),
        ("viewer.pro", "CUDA_SOURCES += a.cu\n", "# {}"),
    ],
)
def test_a_build_of_cuda_is_reported_once(name: str, text: str, comment: str) -> None:
    (found,) = hipport.rewrite({name: text.encode(), f"more/{name}": text.encode()}).reported
    assert found.needs_person and found.rule.startswith("other_builds/") and "hipport does not port" in found.message
    assert not hipport.rewrite({name: comment.format(text.strip()).encode()}).reported


def test_a_project_that_knows_rocm_is_somebodys_port() -> None:
    text = b'files { "a.cu" }\nfilter "options:rocm"\n  buildcommands { "hipcc" }\n'
    assert not hipport.rewrite({"premake5.lua": text}).reported
