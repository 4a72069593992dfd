# SPDX-License-Identifier: Apache-2.0
"""Text that is no program, but that editors and fuzzers produce: no pass fails on it or breaks it further."""

from pathlib import Path, PurePosixPath

import pytest

from hipport import rewrite
from hipport.engine.outcomes import Outcome
from hipport.engine.pipeline import run
from hipport.program.project import Project
from hipport.syntax.cuda import Cuda
from hipport.syntax.python_script import Python
from hipport_passes import PASSES

ASM = '__device__ int f(int a) {{ int r; asm("add.s32 %0, %1, 1;" : {} : {}); return r; }}\n'


@pytest.mark.parametrize(
    "text",
    [
        "__global__ void __launch_bounds__(__launch_bounds__(256, 2), 4) k(int* x) { x[0] = 1; }\n",
        "__global__ void __launch_bounds__(256, __launch_bounds__(1, 2)) k(int* x) { x[0] = 1; }\n",
        ASM.format('"=r"(r)', '"r"(a\0)'),
        ASM.format('"=r"(r\0)', '"r"(a)'),
        ASM.format('"=r"(r)', '"r"(\0 a +\0 1)'),
        "#if defined(defined(USE_ROCM)\nint x;\n#endif\n#if defined(USE_ROCM(defined(USE_ROCM\n#endif\n",
        "#if defined(USE_ROCM && defined(defined(USE_ROCM)))\n#endif\n",
        # In text with errors, the parser's count means nothing for an edit.
        "[;t[]2(__hmul_rn",
        "t(int<__nanosleep __i=(__dmul_rn(sums[),sums);bi",
        "#if defined(__CUDA_ARCH__//\n__CUDA_ARCH__>0\n#endif",
        # A carriage return alone ends lines.
        "#else\r__syncwarp",
    ],
)
def test_no_pass_fails(text: str) -> None:
    ported = run(Project((Cuda(PurePosixPath("odd.cu"), text.encode()),)), PASSES)
    assert [each for each in ported.reported if each.outcome is Outcome.DROPPED] == []


def test_no_pass_fails_on_python_whose_nodes_are_not_where_they_should_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Python, "_offsets", ())
    fixtures = Path(__file__).parents[1] / "fixtures"
    scripts = sorted(each for each in fixtures.rglob("*.before.py") if b"torch.version" in each.read_bytes())
    assert scripts
    ported = rewrite({f"{i}/setup.py": each.read_bytes() for i, each in enumerate(scripts)}, jobs=1)
    assert [(each.rule, each.reason) for each in ported.failures] == []
