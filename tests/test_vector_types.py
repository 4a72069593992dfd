# SPDX-License-Identifier: Apache-2.0
"""Operators on vector types: cases that depend on other files, and on the way files are compiled."""

from pathlib import PurePosixPath

import pytest

from hipport.engine.pipeline import run
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport_passes.compatibility import vector_types

OPERATOR = "{} float3 operator*(float3 a, float3 b) {{ return make_float3(a.x * b.x, a.y * b.y, a.z * b.z); }}\n"


def ported(head: str, **others: str) -> str:
    sources = [Cpp(PurePosixPath("ops.h"), OPERATOR.format(head).encode())]
    for name, text in others.items():
        path = PurePosixPath(name.replace("_", "."))
        sources.append((Cuda if path.suffix == ".cu" else Cpp)(path, text.encode()))
    result = run(Project(tuple(sources)), (vector_types.PASS,))
    (text,) = [source.text.decode() for source in result.project.sources if source.path.name == "ops.h"]
    return text.partition(" float3")[0]


INCLUDES = '#include "ops.h"\n'
KEPT, LEFT_OUT = "{0}", "#ifndef __HIPCC__ /* hipport */\n{0}"
BY_HOST = "#if !defined(__HIPCC__) && !defined(__HIP_PLATFORM_AMD__) /* hipport */\n{0}"


@pytest.mark.parametrize(
    ("head", "others", "expected"),
    [
        ("inline", {"a_cu": INCLUDES}, KEPT),
        ("inline", {"a_cu": INCLUDES, "a_cpp": INCLUDES}, BY_HOST),
        ("inline", {"a_cu": INCLUDES, "a_cpp": "int x;\n"}, KEPT),
        ("inline __device__", {"a_cu": INCLUDES, "a_cpp": INCLUDES}, KEPT),
        ("inline __device__ __host__", {"a_cpp": INCLUDES}, BY_HOST),
        ("static UNKNOWN", {"a_cu": INCLUDES}, LEFT_OUT),
        ("static ONE", {"a_cu": "#define ONE TWO\n#define TWO __device__\n" + INCLUDES}, KEPT),
        ("static ONE", {"a_cu": "#define ONE TWO\n#define TWO __device__ __host__\n" + INCLUDES}, LEFT_OUT),
    ],
)
def test_operators_that_clash(head: str, others: dict[str, str], expected: str) -> None:
    assert ported(head, **others) == expected.format(head)
