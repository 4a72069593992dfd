# SPDX-License-Identifier: Apache-2.0
"""Cases of ptx_integers; ../README.md says what each name here means.

The reference is on Python's integers, one word at a time, after the definitions of NVIDIA's PTX manual.
"""

import numpy as np

PACKAGE = "ptx_integers"

CASES = {
    "empty": {"n": 0, "items": 0, "lanes": 0},
    "one": {"n": 1, "items": 1, "lanes": 32},
    "half_a_warp": {"n": 16, "items": 16, "lanes": 32, "block": 32},
    "warp_and_one": {"n": 33, "items": 33, "block": 64},
    "small": {"n": 100, "kind": "small"},
    "edges": {"n": 343, "kind": "edges"},
    "bytes": {"n": 100, "kind": "bytes"},
    "block_of_96": {"n": 100, "lanes": 192, "block": 96},
    "one_table": {"n": 20, "items": 1000, "bins": 1},
    "many_tables": {"n": 20, "items": 1000, "bins": 300},
    "double": {"n": 150, "kind": "halves"},
}

EDGES = [0, 1, 31, 32, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
M = 0xFFFFFFFF


def inputs(rng, n, items=300, lanes=64, block=128, bins=10, kind=""):
    words = [rng.integers(0, 2**32, n, dtype="uint32") for _ in range(3)]
    if kind == "small":
        words = [rng.integers(-40, 41, n).astype("int32") for _ in range(3)]
    if kind == "edges":  # all combinations
        words = list(np.array(np.meshgrid(EDGES, EDGES, EDGES), dtype="uint32").reshape(3, -1))
    if kind == "bytes":
        words = [rng.choice([0, 0x7F, 0x80, 0xFF], (n, 4)).astype("uint8").view("uint32")[:, 0] for _ in range(3)]
    x = rng.standard_normal(n) * 10.0 ** rng.integers(-2, 12, n)
    if kind == "halves":
        x = rng.integers(-600, 601, n) / 2
    if n > 8:
        x[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 2.0**31, -(2.0**31) - 1024, 65520.0]
    lane_words = rng.integers(0, 2**32, lanes, dtype="uint32")
    lane_words[lanes // 2 :] &= 0xBFF  # the votes of some warps are unanimous
    lane_words[lanes * 3 // 4 :] |= 64
    return {
        "a": words[0].view("int32"),
        "b": words[1].view("int32"),
        "c": words[2].view("int32"),
        "lane_words": lane_words.view("int32"),
        "keys": rng.integers(0, bins, items).astype("int32"),
        "values": rng.integers(0, 2**32, items, dtype="uint32").view("int32"),
        "x": x.astype("float32"),
        "y": x,
        "bins": bins,
        "block": block,
    }


def call(ptx, a, b, c, lane_words, keys, values, x, y, bins, block):
    outputs = {"bits": ptx.bits(a, b, c), "video": ptx.video(a, b, c), "wide": ptx.wide(a, b, c)}
    outputs["lanes"] = ptx.lanes(lane_words, block)
    outputs["tables"], outputs["squares"] = ptx.tables(keys, values, bins, block)
    outputs["chained"] = ptx.chained_sums(values)
    outputs["reversed"] = ptx.reverse4(lane_words)
    outputs["rounded"] = ptx.round(x, y)
    return outputs


def signed(x, bits=32):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def clamp(x, low, high):
    return min(max(x, low), high)


def s32(x):
    return clamp(x, -(2**31), 2**31 - 1)


def part(x, kind, index, of_signed=False):
    """Byte ("b") or half ("h") of a word."""
    size = {"b": 8, "h": 16}[kind]
    value = x >> size * index & ((1 << size) - 1)
    return signed(value, size) if of_signed else value


def extract(a, start, count, is_signed, size=32):
    start, count = start & 255, count & 255
    top = a >> min(start + count - 1, size - 1) & 1 if is_signed and count else 0
    bit = [a >> start + i & 1 if i < count and start + i < size else top for i in range(size)]
    return sum(value << i for i, value in enumerate(bit))


def insert(a, b, start, count):
    start, count = start & 255, count & 255
    for i in range(count):
        if start + i < 32:
            b = b & ~(1 << start + i) | (a >> i & 1) << start + i
    return b


def permute(a, b, selectors):
    source = a | b << 32
    result = 0
    for i, selector in enumerate(selectors):
        byte = source >> 8 * (selector & 7) & 255
        result |= (255 * (byte >> 7) if selector & 8 else byte) << 8 * i
    return result


def shift(low, high, count, left):
    both = high << 32 | low
    return both << count >> 32 & M if left else both >> count & M


def logic(table, a, b, c):
    return sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i for i in range(32))


def highest(a):
    return a.bit_length() - 1 & M


def dot4(a, b, c, signed_a):
    return sum(part(a, "b", i, signed_a) * part(b, "b", i) for i in range(4)) + c


def bit_rows(a, b, c):
    sa, sb, sc = signed(a), signed(b), signed(c)
    k = c & 3
    modes = {
        "f4e": [k, k + 1, k + 2, k + 3],
        "b4e": [k, k - 1, k - 2, k - 3],
        "rc8": [k] * 4,
        "ecl": [max(i, k) for i in range(4)],
        "ecr": [min(i, k) for i in range(4)],
        "rc16": [2 * (k & 1), 2 * (k & 1) + 1] * 2,
    }
    return [
        extract(a, b, c, False),
        extract(a, b & 31, c & 31, False),
        extract(a, b, c, True),
        extract(a, b & 31, c & 31, True),
        insert(a, b, c & 31, c >> 8 & 31),
        insert(a, b, c, c >> 8),
        permute(a, b, [c >> 4 * i & 15 for i in range(4)]),
        permute(a, 0, [3, 0, 1, 4]),
        *(permute(a, b, [i & 7 for i in modes[mode]]) for mode in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")),
        logic(0x96, a, b, c),
        logic(0xE8, a, b, c),
        logic(0xCA, a, b, c),
        shift(a, b, c & 31, True),
        shift(a, b, c & 31, False),
        shift(a, b, min(c & 63, 32), True),
        shift(a, b, min(c & 63, 32), False),
        int(f"{a:032b}"[::-1], 2),
        32 - a.bit_length(),
        bin(a).count("1"),
        int(a & b & c == 0),
        highest(a),
        highest(~a & M if sa < 0 else a),
        (31 - highest(a) if a else M) & M,
        s32(sa + sb),
        M * (sa < sb),
        c + abs(a - b),
        c + abs(sa - sb),
        a if sc >= 0 else b,
        (c if a < b else 0) + (a - b if a & b & 1 else a + b),
        dot4(a, b, c, False),
        dot4(a, b, c, True),
    ]


def video_rows(a, b, c):
    sa, sb, sc = signed(a), signed(b), signed(c)
    halves = [clamp(part(a, "h", i, True) + part(b, "h", i, True), -(2**15), 2**15 - 1) & 0xFFFF for i in range(2)]
    return [
        a + sb,
        s32(sa + sb),
        s32(a - b),
        part(a, "b", 0) + part(b, "b", 3) + c,
        part(a, "h", 1, True) - part(b, "h", 0, True),
        abs(sa - sb),
        abs(a - b) + c,
        abs(part(a, "b", 1) - part(b, "b", 2)),
        max(sa, sb, sc),
        max(min(sa, sb), sc),
        min(max(a, b), c),
        int(a < sb),
        int(a >= part(b, "b", 1)) + c,
        a << min(b & 63, 32),
        sa >> (b & 31),
        s32(part(a, "h", 0, True) * part(b, "h", 1, True) + sc),
        s32((sa * sb + sc) >> 15),
        min(a + b, 0xFFFF) | c & 0xFFFF0000,
        sum(abs(part(a, "b", i) - part(b, "b", i)) for i in range(4)) + c,
        halves[0] | halves[1] << 16,
    ]


def wide_rows(a, b, c):
    def words(value, count):
        return [value >> 32 * i & M for i in range(count)]

    x, y = (sum(word << 32 * i for i, word in enumerate(four)) for four in ((a, b, c, a ^ b), (c, a, ~b & M, b)))
    return [
        *words(x + y, 4),
        *words(x - y, 4),
        M * (x < y),
        *words((a | b << 32) * (c | a << 32), 4),
        *words((a | b << 32 | c << 64) + b * c, 3),
        *words(a * b, 2),
        *words(signed(a) * signed(b) + signed(b | c << 32, 64), 2),
        *words((a | b << 32) * (b | c << 32) >> 64, 2),
        *words(extract(a | b << 32, c & 63, c >> 8 & 63, False, 64), 2),
        (a * b >> 32) + c,
        signed(a) * signed(b) >> 32,
    ]


def lane_rows(warp):
    """The rows of one warp, 32 words of each."""
    rows = []
    odd = sum((value & 1) << i for i, value in enumerate(warp))
    flags = [value >> 6 & 1 for value in warp]
    votes = any(flags) | all(flags) << 1 | (len(set(flags)) == 1) << 2
    total, common, different = 0, M, 0
    for value in warp:
        total, common, different = total + value, common & value, different ^ value
    for lane, value in enumerate(warp):
        first = lane & ~7
        bit = 1 << lane
        rows.append(
            [
                lane,
                bit,
                bit - 1,
                2 * bit - 1,
                M - (2 * bit - 1),
                M - (bit - 1),
                odd,
                odd ^ M,
                votes,
                bin(odd & (bit - 1)).count("1"),
                *(sum(warp[lane // width * width : lane + 1]) for width in (32, 16, 4)),
                warp[lane + 3 if lane < 29 else lane],
                warp[lane ^ 21],
                # An index of eight or more wraps to the first; its predicate is still true: it is within.
                warp[first | value & 7],
                1,
                sum((other & 3 == value & 3) << i for i, other in enumerate(warp)),
                total,
                min(signed(other) for other in warp),
                max(warp),
                common ^ different,
                warp[lane ^ 1],
                1,
            ]
        )
    return rows


def rounded(x, y):
    with np.errstate(all="ignore"):
        half = x.astype("float16")
        narrow = y.astype("float32")
        # Towards zero: one step back if the nearest value is farther from 0.
        out = np.abs(narrow.astype("float64")) > np.abs(y)
        narrow = np.where(out, np.nextafter(narrow, np.float32(0)), narrow)
    exact = np.nan_to_num(x.astype("float64"), nan=0.0)
    rows = [
        np.clip(np.rint(exact), -(2**31), 2**31 - 1),
        np.clip(np.floor(exact), -(2**31), 2**31 - 1),
        np.clip(np.trunc(exact), 0, M),
        np.clip(np.ceil(np.nan_to_num(y, nan=-np.inf)), -(2**31), 2**31 - 1),  # of doubles, NaN becomes the least
        np.clip(np.rint(exact), 0, 255),
    ]
    bits = [half.view("uint16").astype("int64"), half.astype("float32").view("uint32"), narrow.view("uint32")]
    # A NaN that is or was a half has all bits but the sign set; a double's NaN keeps its upper bits.
    bits[0] = np.where(np.isnan(x), 0x7FFF, bits[0])
    bits[1] = np.where(np.isnan(x), 0x7FFFFFFF, bits[1])
    return np.stack([row.astype("int64") for row in rows + bits])


def as_words(rows, count):
    words = np.array([[value & M for value in row] for row in rows], dtype="uint32")
    return words.reshape(-1, count).T.copy().view("int32")


def reference(a, b, c, lane_words, keys, values, x, y, bins, block):
    ua, ub, uc = ([int(value) for value in words.view("uint32")] for words in (a, b, c))
    lanes = [int(value) for value in lane_words.view("uint32")]
    tables, squares = np.zeros((4, bins), dtype="uint32"), [0] * bins
    for key, value in zip(keys, map(int, values.view("uint32"))):
        tables[:2, key] += 1
        tables[2, key] = max(int(tables[2, key]), value)
        tables[3, key] |= value
        squares[key] = (squares[key] + value * value) & (2**64 - 1)
    return {
        "bits": as_words(map(bit_rows, ua, ub, uc), 36),
        "video": as_words(map(video_rows, ua, ub, uc), 20),
        "wide": as_words(map(wide_rows, ua, ub, uc), 26),
        "lanes": as_words([row for i in range(0, len(lanes), 32) for row in lane_rows(lanes[i : i + 32])], 24),
        "tables": tables.view("int32"),
        "squares": np.array(squares, dtype="uint64").view("int64"),
        "chained": np.cumsum(values, dtype="int32"),
        "reversed": lane_words.reshape(-1, 4)[:, ::-1].reshape(-1),
        "rounded": as_words(rounded(x, y).T.tolist(), 8),
    }


def tolerance(**_):
    return {}  # bit for bit
