# SPDX-License-Identifier: Apache-2.0
"""Outputs of extensions are compared value by value, within tolerances from their types and the original's orders."""

import importlib.util
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import Any

import pytest

from hipport.reporting import verify_report
from hipport.verifying import extension_verifier
from hipport.verifying.results import CaseOutcome, Configuration, Difference, Output, Ran, Verified

np: Any = pytest.importorskip("numpy", reason="NumPy is not installed: how outputs are compared was not tested")

FOLDER = Path(extension_verifier.__file__).parents[1] / "executor"


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


arrays = loaded("compare_arrays")


@pytest.fixture(scope="module")
def run_cases() -> Any:
    pytest.importorskip("torch", reason="PyTorch is not installed: what tensors become was not tested")
    return loaded("run_cases")


def near(relative: float, absolute: float) -> Any:
    """Return an array near another one, within the narrowest tolerance of any type."""
    return arrays.ArrayTolerance(relative, absolute, "the case's", own=(1e9, 0.0))


def test_compares_values() -> None:
    a = np.array([[1.0, 2.0], [np.nan, 4.0]], dtype="float32")
    same = arrays.compare(a, a, None)
    assert (same["why"], same["absolute"], same["count"]) == ("", 0.0, 0)
    b = a.copy()
    b[1, 1] = 4.5
    off = arrays.compare(b, a, near(1e-6, 1e-6))
    assert off["why"] == "1 of 4 values differ"
    assert (off["absolute"], off["relative"], off["where"], off["output"]) == (0.5, 0.125, [1, 1], "4.5")
    assert arrays.compare(b, a, near(0.2, 0.0))["why"] == ""
    # A tolerance does not excuse a NaN, and an infinity equals only itself.
    b[1, 1] = np.nan
    assert arrays.compare(b, a, near(1.0, 1.0))["absolute"] == "inf"
    assert arrays.compare(b, a, near(1.0, 1.0))["why"]
    assert arrays.compare(np.nan_to_num(a), a, near(1.0, 1.0))["why"]
    inf = np.array([np.inf, -np.inf])
    assert arrays.compare(inf, inf, near(0.0, 0.0))["why"] == ""
    assert arrays.compare(-inf, inf, near(1.0, 1.0))["why"]
    assert arrays.compare(np.array([1e38, -np.inf]), inf, near(1.0, 1.0))["count"] == 1
    assert arrays.compare(a[:1], a, None)["why"] == "shape [1, 2], not [2, 2]"
    assert arrays.compare(a[:1], a, near(1.0, 1.0))["why"] == "shape [1, 2], not [2, 2]"
    assert arrays.compare(a.astype("float64"), a, None)["why"] == "type float64, not float32"
    empty = np.zeros((0, 3), dtype="int32")
    assert arrays.compare(empty, empty, None)["why"] == ""


@pytest.mark.parametrize("kind", ["int32", "int64", "uint8", "bool"])
def test_integers_are_exact_whatever_a_case_allows(kind: str) -> None:
    one, other = np.array([1, 2]).astype(kind), np.array([1, 0]).astype(kind)
    about = {"terms": 100, "scale": 1.0}
    for given, of_case in (((1.0, 1.0), True), (None, False)):
        tolerance = arrays.tolerance_for(given, (kind, kind), one, about, of_case=of_case, same_code=True)
        assert tolerance is None and arrays.compare(other, one, tolerance)["where"] == [1]


def test_the_place_shown_is_beyond_the_tolerance() -> None:
    expected = np.array([1e6, 1.0])
    # The first difference is larger, but within the tolerance.
    assert arrays.compare(np.array([1e6 + 0.5, 1.1]), expected, near(1e-6, 0.0))["where"] == [1]


def default(kind: str, expected: Any, terms: int = 1, *, same_code: bool = False) -> Any:
    about = {"terms": terms, "scale": 1.0}
    return arrays.tolerance_for(None, (kind, kind), expected, about, of_case=False, same_code=same_code)


def test_the_tolerance_of_a_case_that_says_none() -> None:
    ones = np.ones(3, dtype="float32")
    few, many = default("float32", ones), default("float32", ones, 100)
    assert many.absolute == pytest.approx(10 * few.absolute) and many.relative == few.relative < 2e-6
    # Both were computed with a different order of additions at most.
    assert default("float32", ones, 10_000, same_code=True) == default("float32", ones, same_code=True)
    assert default("float32", ones, 10_000, same_code=True).absolute < 2e-6


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        ("float64", 1e-15, 1e-13),
        ("float32", 5e-7, 1e-4),
        ("float16", 5e-3, 2e-2),
        ("bfloat16", 4e-2, 0.2),
        ("float8_e5m2", 0.5, 4.0),
    ],
)
@pytest.mark.parametrize("terms", [1, 1_000_000])
def test_a_type_tells_by_how_much_its_values_may_differ(kind: str, right: float, wrong: float, terms: int) -> None:
    """Also if an input has a million values, and each output is a sum of few of them."""
    expected = np.full(4, 1.0)
    tolerance = default(kind, expected, terms, same_code=True)
    assert kind in tolerance.origin
    assert not arrays.compare(expected * (1 + right), expected, tolerance)["why"]
    assert arrays.compare(expected * (1 + wrong), expected, tolerance)["why"]


def test_no_tolerance_hides_that_a_small_number_is_another() -> None:
    """In half precision, 0.5 instead of 0.004, and 0 instead of 0.01, are within the case's tolerance, and wrong."""
    expected = np.array([1.0, 0.01, 0.004, 0.0], dtype="float16")
    about = {"terms": 4, "scale": 1.0}

    def judged(values: list[float], given: tuple[float, float], of: Any = expected) -> Any:
        of = of.astype("float64")
        tolerance = arrays.tolerance_for(given, ("float16", "float16"), of, about, of_case=True, same_code=True)
        return arrays.compare(np.array(values), of, tolerance)

    wide = (1e-2, 1.0)
    assert not judged([1.005, 0.01, 0.004, 0.0], wide)["why"]
    for wrong in ([1.0, 0.01, 0.5, 0.0], [1.0, 0.0, 0.004, 0.0], [1.0, -0.01, 0.004, 0.0], [1.0, 0.01, 0.004, 0.01]):
        found = judged(wrong, wide)
        assert found["why"] == "1 of 4 values differ, 1 of them by more than themselves, which no tolerance hides"
    # A difference of larger values has no relative error: the order of sums in float, which varies.
    left = judged([1.0, 0.01, 0.004, 1e-6], wide)
    assert not left["why"] and left["relative"] < 1e-3
    assert judged([1.0, 0.01, 0.004, 0.0009], wide)["why"]
    # A tolerance that is too narrow is replaced by the usual one, in the message.
    assert judged([1.1, 0.01, 0.004, 0.0], (1e-2, 0.0))["why"] == "1 of 4 values differ"


def test_a_tolerance_that_is_wider_than_the_type_is_warned_of() -> None:
    expected = np.ones(3)
    about = {"terms": 64, "scale": 1.0}

    def warning(kind: str, given: tuple[float, float]) -> str:
        found = arrays.tolerance_for(given, (kind, kind), expected, about, of_case=True, same_code=True)
        assert found.origin == "the case's" and (found.relative, found.absolute) == given
        return str(found.warning)

    for kind, narrow, wide in (
        ("float64", (1e-15, 1e-14), (1e-9, 0.0)),
        ("float32", (2e-6, 1e-6), (1e-4, 0.0)),
        ("float16", (5e-3, 2e-3), (0.1, 0.0)),
        ("bfloat16", (5e-2, 2e-2), (0.5, 0.0)),
    ):
        assert not warning(kind, narrow)
        assert warning(kind, wide).startswith(f"the case allows {wide[0]:.2g} of a value and 0; {kind} and sums of")
        assert warning(kind, (0.0, 1.0))


def test_what_the_original_differs_by_itself_counts_value_by_value() -> None:
    expected = np.array([1.0, 1.0], dtype="float32")
    spread = arrays.spread_of(np.array([1.0, 1.001], dtype="float32"), expected)
    tolerance = default("float32", expected, same_code=True)
    wider = arrays.with_spread(tolerance, spread)
    assert wider.origin.endswith("or 4 times the original's own in other orders of its threads")
    assert arrays.compare(np.array([1.0, 1.003]), expected, tolerance)["why"]
    assert not arrays.compare(np.array([1.0, 1.003]), expected, wider)["why"]
    assert arrays.compare(np.array([1.0, 1.005]), expected, wider)["why"]
    assert arrays.compare(np.array([1.003, 1.0]), expected, wider)["why"]
    assert arrays.with_spread(tolerance, np.zeros(2)) is tolerance and arrays.with_spread(None, spread) is None


def case(run_cases: Any, **own: Any) -> Any:
    cases = SimpleNamespace(CASES={"a": {}}, inputs=lambda _rng: {"x": np.ones(8, dtype="float32")}, **own)
    return run_cases._Case(cases, "a", {})


def test_a_port_is_held_against_all_orders_of_the_original(run_cases: Any) -> None:
    types = {"y": "float32"}
    first, again, port = ({"y": np.array([value], dtype="float32")} for value in (1.0, 1.0 + 2e-6, 1.0 + 7e-6))
    alone, both = case(run_cases), case(run_cases)
    for each in (alone, both):
        each.keep_original(first, types)
    both.keep_original(again, types)
    assert alone.compared(port, types, "ported")["y"]["original"]["why"]
    found = both.compared(port, types, "ported")["y"]["original"]
    assert not found["why"] and "4 times the original's own" in found["tolerance"]["origin"]
    # It adds in the order of its threads: the rounding errors of all terms count.
    assert "float32 and sums of at most 8 numbers" in found["tolerance"]["origin"]
    assert both.tolerance("y", "float32", first["y"], "original", "original").origin.endswith("at most 8 numbers")
    assert alone.tolerance("y", "float32", first["y"], "original", "ported").origin.endswith("in another order")
    assert alone.tolerance("y", "float32", first["y"], "original", "gpu").origin.endswith("at most 8 numbers")
    # An original that differs from itself by more than the tolerance is no reference for others.
    racing = case(run_cases)
    racing.keep_original(first, types)
    racing.keep_original({"y": np.array([2.0], dtype="float32")}, types)
    assert racing.compared(port, types, "ported")["y"]["original"]["why"]
    # The case's tolerance applies, and an output that it does not name must be equal.
    said = case(run_cases, tolerance=lambda: {"y": (1e-5, 0.0)})
    exact = case(run_cases, tolerance=dict)
    for each in (said, exact):
        each.keep_original(first, types)
    assert said.compared(port, types, "ported")["y"]["original"]["tolerance"]["origin"] == "the case's"
    assert exact.compared(port, types, "ported")["y"]["original"]["why"]


def test_an_output_of_another_type_or_shape_or_name_is_another(run_cases: Any) -> None:
    whole = case(run_cases, tolerance=lambda: {"y": (1.0, 1.0)})
    y = np.ones(2, dtype="float32")
    whole.keep_original({"y": y}, {"y": "bfloat16"})
    assert not whole.compared({"y": y}, {"y": "bfloat16"}, "ported")["y"]["original"]["why"]
    other = whole.compared({"y": y}, {"y": "float32"}, "ported")["y"]["original"]
    assert other["why"] == "type float32, not bfloat16"
    assert whole.compared({"y": y[:1]}, {"y": "bfloat16"}, "ported")["y"]["original"]["why"]
    assert whole.compared({}, {}, "ported")["y"]["original"]["why"] == "there is no such output"
    more = whole.compared({"y": y, "z": y}, {"y": "bfloat16", "z": "float32"}, "ported")["z"]["original"]
    assert more["why"] == "original has no such output"


def test_tensors_keep_the_names_of_their_types(run_cases: Any) -> None:
    import torch

    given = {"b": torch.ones(2, dtype=torch.bfloat16), "h": torch.ones(2, dtype=torch.half), "n": 3, "f": 1.5}
    given["q"] = torch.ones(2).to(torch.float8_e5m2)
    cases = SimpleNamespace(CASES={"a": {}}, inputs=lambda _rng: {}, call=lambda _package: given)
    found, types = run_cases._one(cases, None, "a", "cpu")
    assert types == {"b": "bfloat16", "h": "float16", "n": "int64", "f": "float64", "q": "float8_e5m2"}
    assert {key: str(value.dtype) for key, value in found.items() if key in "bq"} == {"b": "float32", "q": "float32"}


def test_the_report_shows_error_tolerance_and_what_it_is_compared_with() -> None:
    expected = np.array([1.0, 0.5])
    about = {"terms": 2, "scale": 1.0}
    differences = []
    for values in ([1.01, 0.5], [1.1, 0.5]):
        tolerance = arrays.tolerance_for(
            (5e-2, 0.0), ("float16", "float16"), expected, about, of_case=True, same_code=True
        )
        found = arrays.compare(np.array(values), expected, tolerance)
        differences.append(Difference.read("reference", found))
    side = Configuration("ported", 64)

    def verified(difference: Difference) -> Verified:
        outcome = CaseOutcome("one", "ok", outputs=(Output("y", "float16", (2,), (difference,)),))
        return Verified(Path("/tree"), "p", (Ran(side, (outcome,)),), ())

    right, wrong = map(verified, differences)
    text = verify_report.as_text(right)
    off = "by 0.01 at [0] (0.01 of it) at the most in ported@64 forward; allowed 0.05 of it: the case's"
    assert f"  one: y, against reference: 1 differ, {off}\n" in text
    assert "warning: the case allows 0.05 of a value and 0; float16 and sums of at most 2 numbers come to" in text
    assert "(y of one)" in text
    assert "[0] is 1.1, not 1.0 (largest error 0.1, relative 0.1); allowed 0.05 of it: the case's" in (
        verify_report.as_text(wrong)
    )
    for whole, count in ((right, 1), (wrong, 1)):
        values = verify_report.as_values(whole)["configurations"][0]["cases"][0]["outputs"][0]["differences"][0]
        assert values["against"] == "reference"
        (tolerance,) = values["tolerances"]
        assert (tolerance["origin"], tolerance["relative"], tolerance["absolute"]) == ("the case's", 0.05, 0.0)
        assert tolerance["count"] == count and tolerance["where"] == [0] and "float16" in tolerance["warning"]
    assert PurePath(whole.root) == PurePath("/tree")
