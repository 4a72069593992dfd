# SPDX-License-Identifier: Apache-2.0
"""The environment variables that code of a tree may see: an allow-list, because a shell has keys and tokens in it.

What is not named here is not passed on: `--env NAME` passes on one more.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

#: What programs, interpreters, compilers, ROCm, PyTorch and build tools are told with.
_ALLOWED = re.compile(
    # The user, the language, the place for temporary files; the search paths.
    r"PATH|HOME|USER|LOGNAME|SHELL|TERM|TZ|LANG|LANGUAGE|LC_\w+|TMPDIR|TEMP|TMP|XDG_CACHE_HOME|NO_COLOR"
    r"|(?:LD|DYLD)_\w+|PKG_CONFIG_(?:PATH|LIBDIR)|SOURCE_DATE_EPOCH"
    # Python and its environments.
    r"|PYTHON(?:PATH|HOME|HASHSEED|USERBASE|NOUSERSITE|SAFEPATH|UNBUFFERED|DONTWRITEBYTECODE|PYCACHEPREFIX|UTF8|"
    r"IOENCODING|WARNINGS|MALLOC|DEVMODE|FAULTHANDLER)"
    r"|VIRTUAL_ENV|CONDA_(?:PREFIX|DEFAULT_ENV|PYTHON_EXE|EXE|SHLVL)|SETUPTOOLS_\w+|DISTUTILS_\w+"
    # Compilers and what builds with them.
    r"|CC|CXX|HOSTCXX|HIPCC|NVCC|FC|LD|AR|RANLIB|STRIP|(?:C|CXX|CPP|LD|F|HIP|HIPCC|HIPCXX|NVCC)FLAGS|LDLIBS|LIBS"
    r"|(?:HIPCC|NVCC)_\w+|CPATH|(?:C|CPLUS|OBJC)_INCLUDE_PATH|COMPILER_PATH|LIBRARY_PATH|GCC_EXEC_PREFIX"
    r"|CMAKE_\w+|CUDAARCHS|CUDACXX|HIPCXX|HIPARCHS|NINJA_STATUS|MAX_JOBS|MAKE|MAKEFLAGS|VERBOSE"
    r"|CCACHE_\w+|SCCACHE_(?:DIR|CACHE_SIZE|ERROR_LOG|LOG)"
    # ROCm, CUDA, PyTorch and the libraries of numbers.
    r"|(?:ROCM|HIP|HSA|ROCR|AMD|GPU|MIOPEN|ROCBLAS|HIPBLASLT|TENSILE|RCCL|NCCL|CUDA|CUDNN|CUBLAS|NVIDIA|TORCH|PYTORCH"
    r"|TRITON|ATEN|OMP|GOMP|KMP|MKL|OPENBLAS|BLIS|NUMEXPR|VECLIB|TBB)_\w+|FORCE_(?:CUDA|ROCM|ONLY_CUDA|ONLY_CPU)"
    r"|TCNN_\w+|USE_(?:CUDA|ROCM|HIP|NINJA)|ROCM_?HOME|GPU_ARCHS|DEVICE_LIB_PATH"
    # What looks into memory.
    r"|(?:A|L|T|M|UB)SAN_(?:OPTIONS|SYMBOLIZER_PATH)|MALLOC_\w+|GLIBC_TUNABLES"
    # hipport's own.
    r"|(?:HIPPORT|SIMT)_\w+"
)
#: What is a secret whatever it begins with: TORCH_HUB_TOKEN, CMAKE_PASSWORD.
_SECRET = re.compile(
    r"(?i)TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|COOKIE|BEARER|(?:^|_)(?:CREDS?|JWT)(?:_|$)"
    r"|(?:^|_)(?:API|ACCESS|PRIVATE|SIGNING|AUTH|SSH|GPG)_?KEY|(?:^|_)AUTH(?:_|$)"
    r"|(?:^|_)(?:PASS|PWD|KEY|PAT)(?:_|$)"
)
#: What is one whatever it is called: redis://:password@host, https://ghp_0123456789abcdef@host.
_WITH_PASSWORD = re.compile(r"://(?:[^/\s@]*:[^/\s@]+|[^/\s@]{16,})@")


def allowed(env: Mapping[str, str], more: Sequence[str] = ()) -> dict[str, str]:
    """Return what of an environment code of a tree may see: what is on the list, and the names in `more`."""
    passed = {
        name: value
        for name, value in env.items()
        if name in more or (_ALLOWED.fullmatch(name) and not _SECRET.search(name) and not _WITH_PASSWORD.search(value))
    }
    if "MAKEFLAGS" in passed and "MAKEFLAGS" not in more:
        # Behind its options make passes on the variables of its command line: `make TOKEN=…`.
        passed["MAKEFLAGS"] = re.split(r"(?:^|\s)--(?:\s|$)", passed["MAKEFLAGS"])[0]
    return from_anywhere(passed)


def from_anywhere(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment that means the same in every folder.

    Of the lists of folders that programs and libraries are found by, what is relative to the current folder goes (an
    empty entry too: `PATH=:/usr/bin`). That folder may be a tree of somebody else's, with a `hipcc` of its own.
    """
    kept = dict(env)
    for name in ("PATH", "LD_LIBRARY_PATH"):
        if name in env:
            folders = [folder for folder in env[name].split(os.pathsep) if folder.startswith(os.sep)]
            kept[name] = os.pathsep.join(folders)
    return kept
