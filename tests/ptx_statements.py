# SPDX-License-Identifier: Apache-2.0
"""A program with instructions that only a GPU has, of warps, blocks and memory, as hipport's functions or as PTX.

Both gave the same results and the same memory on an H200, with CUDA 13.0.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

DEVICE = r"""
#if !defined(__CUDACC__) || defined(__HIP__) || defined(HELPERS)
#include "hipport/ptx.h"
using namespace hipport::ptx;
#endif
#include <cstdio>
#include <vector>

struct Memory {
  unsigned words[128];
  unsigned long long longs[64];
  float floats[64];
  double doubles[64];
  unsigned short halves[128];
};

__global__ void kernel(Memory* memory, unsigned long long* results) {
  __shared__ unsigned near[64];
  const unsigned t = threadIdx.x, lane = t % 32;
  unsigned column = 0;
  auto keep = [&](unsigned long long made) { results[64 * column++ + t] = made; };
  const unsigned value = t * 2654435761u ^ 0x5bd1e995u, few = value >> 30, mask = lane < 16 ? 0xffffu : 0xffff0000u;
  const unsigned all = 0xffffffffu;
  const unsigned long long wide = value * 0x100000001ull;
  bool p = false;
  near[t] = value;
  __syncthreads();
  (void)p, (void)all, (void)wide;
#if !defined(__CUDACC__) || defined(__HIP__) || defined(HELPERS)
@calls@
#else
@assembler@
#endif
}

#if defined(__CUDACC__) && !defined(__HIP__)
int main() {
  Memory start;
  for (unsigned i = 0; i < 128; ++i) {
    start.words[i] = i * 0x01234567u;
    start.halves[i] = (unsigned short)(0x3c00 + 5 * i);
  }
  for (unsigned i = 0; i < 64; ++i) {
    start.longs[i] = i * 0x0123456789abcdefull;
    start.floats[i] = 0.25f * float(i);
    start.doubles[i] = 0.1 * i;
  }
  Memory* memory;
  unsigned long long* results;
  std::vector<unsigned long long> made(64 * @columns@);
  cudaMalloc(&memory, sizeof(Memory));
  cudaMalloc(&results, made.size() * 8);
  cudaMemcpy(memory, &start, sizeof(Memory), cudaMemcpyDefault);
  kernel<<<1, 64>>>(memory, results);
  cudaMemcpy(made.data(), results, made.size() * 8, cudaMemcpyDefault);
  const cudaError_t error = cudaMemcpy(&start, memory, sizeof(Memory), cudaMemcpyDefault);
  if (error != cudaSuccess) return std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::FILE* file = std::fopen("device.results", "wb");
  std::fwrite(made.data(), 8, made.size(), file);
  std::fwrite(&start, sizeof(start), 1, file);
  return std::fclose(file);
}
#endif
"""


def statements() -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the opcode, the C++ type of the result, hipport's call, the asm text and its operands, if any."""
    for name in "laneid lanemask_eq lanemask_lt lanemask_le lanemask_gt lanemask_ge tid.x ntid.x".split():
        yield f"mov %{name}", "unsigned", f"{name.replace('.', '_')}()", f"mov.u32 %0, %%{name};", '"=r"(made)'
    yield "mov nctaid", "unsigned", "nctaid_y() + ctaid_z()", "mov.u32 %0, %%nctaid.y;", '"=r"(made)'
    modes = {
        "up": [(1, 0), (31, 0), (3, 0x1800), (33, 0), (2, 0x1C00), (1, 5), (4, 0x1008)],
        "down": [(1, 31), (31, 31), (3, 0x181F), (33, 31), (2, 0x1C1F), (1, 20), (4, 0x1007)],
        "bfly": [(1, 31), (16, 31), (3, 0x181F), (5, 0x181F), (31, 0x1C1F), (9, 20), (4, 0x1007)],
        "idx": [(0, 31), (33, 31), (3, 0x181F), (9, 0x181F), (31, 0x1C1F), (9, 7), (4, 0x1003)],
    }
    for mode, operands in modes.items():
        for b, c in operands:
            text = f"shfl.sync.{mode}.b32"
            yield (
                f"{text} {b} {c}",
                "unsigned",
                f"shfl_sync_{mode}_b32(value, {b}, {c}, all)",
                f"{text} %0, %1, {b}, {c}, 0xffffffff;",
                '"=r"(made) : "r"(value)',
            )
            yield (
                f"{text}|p {b} {c}",
                "unsigned",
                f"(shfl_sync_{mode}_b32(value, {b}, {c}, all, p), p)",
                f"{{ .reg .pred p; .reg .b32 t; {text} t|p, %1, {b}, {c}, 0xffffffff; selp.u32 %0, 1, 0, p; }}",
                '"=r"(made) : "r"(value)',
            )
        text = f"shfl.sync.{mode}.b32"
        yield (
            f"{text} few",
            "unsigned",
            f"shfl_sync_{mode}_b32(value, few, 0x{'1800' if mode == 'up' else '181f'}, all)",
            f"{text} %0, %1, %2, 0x{'1800' if mode == 'up' else '181f'}, 0xffffffff;",
            '"=r"(made) : "r"(value), "r"(few)',
        )
    for mode in ("all", "any", "uni"):
        for question in ("few == 1", "lane < 16", "few < 8"):
            yield (
                f"vote.sync.{mode}.pred {question}",
                "unsigned",
                f"vote_sync_{mode}_pred({question}, mask)",
                f"{{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.{mode}.pred q, p, %2; selp.u32 %0, 1, 0, q; }}",
                f'"=r"(made) : "r"(unsigned({question})), "r"(mask)',
            )
    yield (
        "vote.sync.ballot.b32",
        "unsigned",
        "vote_sync_ballot_b32(few == 1, mask)",
        "{ .reg .pred p; setp.eq.u32 p, %1, 1; vote.sync.ballot.b32 %0, p, %2; }",
        '"=r"(made) : "r"(few), "r"(mask)',
    )
    for size, argument, letter in (("32", "few", "r"), ("64", "(unsigned long long)few << 40", "l")):
        for mode in ("any", "all"):
            text = f"match.{mode}.sync.b{size}"
            yield (
                text,
                "unsigned",
                f"match_{mode}_sync_b{size}({argument}, mask)",
                f"{text} %0, %1, %2;",
                f'"=r"(made) : "{letter}"({argument}), "r"(mask)',
            )
        yield (
            f"match.all.sync.b{size}|p",
            "unsigned",
            f"(match_all_sync_b{size}({argument} >> 9, mask, p), p)",
            f"{{ .reg .pred p; .reg .b32 t; match.all.sync.b{size} t|p, %1, %2; selp.u32 %0, 1, 0, p; }}",
            f'"=r"(made) : "{letter}"({argument} >> 9), "r"(mask)',
        )
    for name, kinds in {"add": "us", "min": "us", "max": "us", "and": "b", "or": "b", "xor": "b"}.items():
        for kind in kinds:
            type_ = {"u": "unsigned", "s": "int", "b": "unsigned"}[kind]
            yield (
                f"redux.sync.{name}.{kind}32",
                type_,
                f"redux_sync_{name}_{kind}32({type_}(value), mask)",
                f"redux.sync.{name}.{kind}32 %0, %1, %2;",
                '"=r"(made) : "r"(value), "r"(mask)',
            )
    yield "activemask.b32", "unsigned", "activemask_b32()", "activemask.b32 %0;", '"=r"(made)'
    yield (
        "elect.sync",
        "unsigned",
        "elect_sync(mask, p)",
        "{ .reg .pred p; elect.sync %0|p, %1; }",
        '"=r"(made) : "r"(mask)',
    )
    yield (
        "elect.sync|p",
        "unsigned",
        "(elect_sync(mask, p), p)",
        "{ .reg .pred p; .reg .b32 t; elect.sync t|p, %1; selp.u32 %0, 1, 0, p; }",
        '"=r"(made) : "r"(mask)',
    )
    for name, end, call in (("popc", "u32", ""), ("and", "pred", ""), ("or", "pred", "")):
        for question in ("few == 1", "few < 8", "t > 64"):
            result = "%0, 0, p;" if end == "u32" else "q, 0, p; selp.u32 %0, 1, 0, q;"
            yield (
                f"bar.red.{name}.{end} {question}",
                "unsigned",
                f"bar_red_{name}_{end}({question}){call}",
                f"{{ .reg .pred p, q; setp.ne.u32 p, %1, 0; barrier.red.{name}.{end} {result} }}",
                f'"=r"(made) : "r"(unsigned({question}))',
            )
    yield (
        "cvta.to.shared.u64 ld.shared.u32",
        "unsigned",
        "ld<u32>(shared(cvta_to_shared_u64(near), 4 * lane))",
        "{ .reg .b64 a; cvta.to.shared.u64 a, %1; ld.shared.u32 %0, [a]; }",
        '"=r"(made) : "l"(near + lane)',
    )
    yield (
        "cvta.shared.u64",
        "unsigned",
        "*(u32*)cvta_shared_u64(cvta_to_shared_u64(near + t))",
        "{ .reg .b64 a; cvta.to.shared.u64 a, %1; cvta.shared.u64 a, a; ld.u32 %0, [a]; }",
        '"=r"(made) : "l"(near + t)',
    )
    for space, question in itertools.product(("global", "shared", "local"), ("near", "memory", "&column")):
        yield (
            f"isspacep.{space} {question}",
            "unsigned",
            f"isspacep_{space}({question})",
            f"{{ .reg .pred p; isspacep.{space} p, %1; selp.u32 %0, 1, 0, p; }}",
            f'"=r"(made) : "l"({question})',
        )
    loads = (
        ".ca .cg .cs .cv .volatile .relaxed.gpu .relaxed.cta .relaxed.sys .acquire.gpu .acquire.cta .acquire.sys .nc"
    )
    for load in ["", *loads.split(), ".nc.L1::no_allocate"]:
        kept = re.sub(r"\.(ca|cs|nc|L1::\w+)\b", "", load).replace(".", "_")
        place = "" if not load or load[:3] in (".re", ".ac", ".vo") else ".global"
        text = f"ld{load}{place}" if ".nc" not in load else f"ld.global{load}"
        yield (
            f"{text}.u32",
            "unsigned",
            f"ld{kept}<u32>(generic(memory->words + lane))",
            f"{text}.u32 %0, [%1];",
            '"=r"(made) : "l"(memory->words + lane)',
        )
        yield (
            f"{text}.v2.f32",
            "float",
            f"[&] {{ float x, y; ld{kept}_v2<f32>(x, y, generic(memory->floats + 2 * lane)); return x + 100 * y; }}()",
            f"{{ .reg .f32 x, y, h; {text}.v2.f32 {{x, y}}, [%1]; mov.f32 h, 0f42C80000; fma.rn.f32 %0, y, h, x; }}",
            '"=f"(made) : "l"(memory->floats + 2 * lane)',
        )
        yield (
            f"{text}.v4.u16",
            "unsigned",
            f"[&] {{ u32 x, y; u16 z, w; ld{kept}_v4<u16>(x, y, z, w, generic(memory->halves, 8 * (lane / 2)));"
            " return x + 3 * y + 5 * z + 7 * w; }()",
            f"{{ .reg .u16 x, y, z, w; .reg .u32 a, b, c, d; {text}.v4.u16 {{x, y, z, w}}, [%1]; cvt.u32.u16 a, x; "
            "cvt.u32.u16 b, y; cvt.u32.u16 c, z; cvt.u32.u16 d, w; mad.lo.u32 a, b, 3, a; mad.lo.u32 a, c, 5, a; "
            "mad.lo.u32 %0, d, 7, a; }",
            '"=r"(made) : "l"(memory->halves + 4 * (lane / 2))',
        )
    for kind, width in (("s8", 1), ("u8", 1), ("s16", 2)):
        yield (
            f"ld.{kind}",
            "int",
            f"int(ld<{kind}>(generic(memory->words, {width} * lane + 64)))",
            f"ld.{kind} %0, [%1+64];",
            f'"=r"(made) : "l"((char*)memory->words + {width} * lane)',
        )
    stores = ".wb .cg .cs .wt .volatile .relaxed.gpu .release.cta .release.gpu .release.sys"
    for i, store in enumerate(["", *stores.split()]):
        kept = re.sub(r"\.(wb|cs)\b", "", store).replace(".", "_")
        yield (
            f"st{store}.v2.u32",
            "unsigned",
            f"(st{kept}_v2<u32>(generic(memory->words + 2 * t), value + {i}, few), __syncthreads(), "
            "memory->words[127 - t])",
            f"{{ .reg .b32 a; add.u32 a, %2, {i}; st{store}.v2.u32 [%1], {{a, %3}}; bar.sync 0; ld.u32 %0, [%4]; }}",
            '"=r"(made) : "l"(memory->words + 2 * t), "r"(value), "r"(few), "l"(memory->words + 127 - t)',
        )
        yield "bar.sync", "unsigned", "(bar_sync(), 0u)", "bar.sync 0; mov.u32 %0, 0;", '"=r"(made)'
    atoms = {"u32": "words", "s32": "words", "u64": "longs", "s64": "longs", "b32": "words", "b64": "longs"}
    types = {"u32": "unsigned", "s32": "int", "u64": "unsigned long long", "s64": "long long"}
    types |= {"b32": "unsigned", "b64": "unsigned long long", "f32": "float", "f64": "double"}
    operations = {"add": "u32 s32 u64 f32 f64", "min": "u32 s32 u64 s64", "max": "u32 s32 u64 s64"}
    operations |= {"and": "b32 b64", "or": "b32 b64", "xor": "b32 b64", "exch": "b32 b64", "inc": "u32", "dec": "u32"}
    orders = itertools.cycle(["", *".relaxed.gpu .acquire.cta .release.sys .acq_rel.gpu .relaxed.cta .cta".split()])
    for operation, kinds in operations.items():
        for kind in kinds.split():
            place = atoms.get(kind, "floats" if kind == "f32" else "doubles")
            order = next(orders)
            value = {"f32": "3.0f * lane", "f64": "3.0 * lane"}.get(kind, "value" if "32" in kind else "wide")
            if operation in ("inc", "dec"):
                value = "value >> 3"
            letter = {"f32": "f", "f64": "d"}.get(kind, "r" if "32" in kind else "l")
            type_ = types[kind]
            function = f"atom{order}_{operation}<{type_}>".replace(".", "_")
            register = "unsigned" if letter == "r" else "unsigned long long" if letter == "l" else type_
            yield (
                f"atom{order}.{operation}.{kind}",
                register,
                f"({register}){function}(generic(memory->{place} + t), ({type_})({value}))",
                f"atom{order}.{operation}.{kind} %0, [%1], %2;",
                f'"={letter}"(made) : "l"(memory->{place} + t), "{letter}"(({type_})({value}))',
            )
    for kind, place, value in (("b32", "words", "value"), ("b64", "longs", "wide")):
        letter = "r" if kind == "b32" else "l"
        old = f"few < 2 ? memory->{place}[t] : 5"
        yield (
            f"atom.cas.{kind}",
            types[kind],
            f"atom_cas<{types[kind]}>(generic(memory->{place} + t), {old}, {value})",
            f"atom.cas.{kind} %0, [%1], %2, %3;",
            f'"={letter}"(made) : "l"(memory->{place} + t), "{letter}"({old}), "{letter}"({value})',
        )
    for kind, letter, type_ in (("f16", "h", "unsigned short"), ("f16x2", "r", "unsigned")):
        offset = "t" if kind == "f16" else "2 * t"
        one = "0x3c00" if kind == "f16" else "0x3c004000"
        yield (
            f"atom.add.noftz.{kind}",
            type_,
            f"(bar_sync(), atom_add_{kind}(generic(memory->halves + {offset}), {one}))",
            f"bar.sync 0; atom.add.noftz.{kind} %0, [%1], %2;",
            f'"={letter}"(made) : "l"(memory->halves + {offset}), "{letter}"(({type_}){one})',
        )
    yield (
        "red.add.u32",
        "unsigned",
        "(red_relaxed_gpu_add<u32>(generic(memory->words + lane), value), fence_acq_rel_gpu(), membar_gl(), 0u)",
        "red.relaxed.gpu.add.u32 [%1], %2; fence.acq_rel.gpu; membar.gl; mov.u32 %0, 0;",
        '"=r"(made) : "l"(memory->words + lane), "r"(value)',
    )
    for name in ("sc", "acq_rel"):
        for scope in ("cta", "gpu", "sys"):
            text = f"fence.{name}.{scope}"
            yield text, "unsigned", f"(fence_{name}_{scope}(), 0u)", f"{text}; mov.u32 %0, 0;", '"=r"(made)'
    yield (
        "others",
        "unsigned",
        "(bar_warp_sync(all), barrier_sync(), membar_cta(), membar_sys(), nanosleep_u32(20), prefetch(memory), 0u)",
        "bar.warp.sync 0xffffffff; barrier.sync 0; nanosleep.u32 20; mov.u32 %0, 0;",
        '"=r"(made)',
    )
    # Values that differ from run to run, or from GPU to GPU: only their presence is tested.
    yield (
        "clocks",
        "unsigned",
        "hipport::ptx::clock64() > 0 && hipport::ptx::clock() + clock_hi() > 0 && globaltimer() > 0"
        " && globaltimer_lo() + globaltimer_hi() > 0 && smid() < nsmid() && warpid() < nwarpid() ? 1u : 0u",
        "mov.u32 %0, 1;",
        '"=r"(made)',
    )


def device_program() -> str:
    calls, assembler = [], []
    for opcode, kind, call, text, operands in statements():
        calls.append(f"  keep((unsigned long long)({call}));  // {opcode}")
        assembler.append(
            f'  {{ {kind} made; asm volatile("{text}" : {operands}{" :" * (1 + (") : " not in operands))} "memory");'
            " keep((unsigned long long)made); }"
        )
    text = DEVICE.replace("@columns@", str(len(calls)))
    return text.replace("@calls@", "\n".join(calls)).replace("@assembler@", "\n".join(assembler))
