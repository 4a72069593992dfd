# SPDX-License-Identifier: Apache-2.0
"""The output of a program and its port is compared in order, integers exactly, other numbers within tolerances."""

from dataclasses import replace
from pathlib import Path

import pytest

from hipport.reporting import verify_report
from hipport.verifying import program_runs, results
from hipport.verifying.printed_numbers import read
from hipport.verifying.printed_output import Measure


def ran(text: str, status: int | None = 0) -> program_runs.ProgramRun:
    return program_runs.ProgramRun(status, tuple(text.splitlines()), "", 0.1, ())


@pytest.mark.parametrize(
    ("first", "again", "other", "same"),
    [
        ("sum 1.0000", "sum 1.0000", "sum 1.0001", True),  # Rounded.
        ("sum 1.0000", "sum 1.0000", "sum 1.0005", False),
        ("sum 1.0000", "sum 1.0000", "sum 1.1000", False),
        ("sum nan", "sum nan", "sum nan", True),
        ("sum 1.0", "sum 1.0", "sum nan", False),
        ("n 5 seed 17", "n 5 seed 99", "n 5 seed 3", True),  # Different in each run.
        ("n 5 seed 17", "n 5 seed 99", "n 6 seed 3", False),
        ("took 3.25 ms", "took 3.25 ms", "took 9 ms", True),
        ("Bandwidth: 12 GB/s", "Bandwidth: 12 GB/s", "Bandwidth: 1 GB/s", True),
        ("PASS", "PASS", "FAIL", False),
        ("a 1\nb 2", "a 1\nb 2", "b 2\na 1", False),  # The host prints in one order.
        ("a 1\nb 2", "a 1\nb 2", "b 2\na 3", False),
        ("a 1\nb 2", "a 1\nb 2", "a 1", False),
        ("a 1", "a 1", "a 1\nsurprise", False),
        ("error: cudaErrorNotReady", "error: cudaErrorNotReady", "error: hipErrorNotReady", True),
        ("error: cudaErrorNotReady", "error: cudaErrorNotReady", "error: hipSuccess", False),
        ("a 1\ncudaSuccess", "a 1\ncudaSuccess", "a 2\nhipSuccess", False),
        ("a 1\nd 2\ncudaSuccess", "a 1\nd 2\ncudaSuccess", "a 1\nd 2\nhipSuccess", True),
        ("a 1\nb 2", "sm 9.4 is unknown\na 1\nb 2", "sm 11.0 is unknown\na 1\nb 2", True),  # About the device.
        ("a 1\nb 2", "sm 9.4 is unknown\na 1\nb 2", "sm 11.0 is unknown\na 1\nb 3", False),
        ("a 1\nb 2", "sm 9.4 is unknown\na 1\nb 2", "sm 11.0 is unknown\na 1\nb 2\nsurprise", False),
        ("a 1\nb 2\nc 3", "a 1\nc 3", "a 1\nb 4\nc 3", True),
        ("on X 8\na 1", "sm 9 is unknown\non Y 9\na 1", "sm 9 is unknown\non Y 9\na 1", True),
        ("on X 8\na 1", "sm 9 is unknown\non Y 9\na 1", "sm 9 is unknown\non Y 9\na 2", False),
    ],
)
def test_printed_lines(first: str, again: str, other: str, same: bool) -> None:
    measure = Measure.of(ran(first), ran(again), [])
    assert measure.outcome("x", ran(other)).ok is same, measure.outcome("x", ran(other))


def compared(first: str, other: str, *orders: str, side: str = "ported") -> results.Difference:
    """Compare the output of an original and of a run of a side; `orders` are the original's outputs in other orders."""
    outcome = Measure.of(ran(first), ran(first), [ran(each) for each in orders]).outcome("x", ran(other), side)
    (difference,) = next(each.differences for each in outcome.outputs if each.name == "stdout")
    return difference


def test_a_number_may_differ_as_much_as_the_original_from_itself() -> None:
    """The difference is 9.9e-4 between orders of the original's threads, and 1.05e-3 in the port."""
    first, reverse, port = "sum 1.00000\nn 1", "sum 1.00099\nn 1", "sum 0.99895\nn 1"
    assert compared(first, port).why == "1 of 2 lines differ"
    found = compared(first, port, reverse)
    assert not found.why
    (tolerance,) = found.tolerances
    assert tolerance.origin == "4 times the original's own in other orders of its threads"
    assert (tolerance.count, tolerance.where) == (1, (1,)) and tolerance.absolute == pytest.approx(4 * 0.00099)
    # Four times as much is too much, and no other tolerance becomes wider.
    assert compared(first, "sum 0.99\nn 1", reverse).why
    assert compared(first, "sum 1.00000\nn 1.01", reverse).why
    assert compared(first, "n 1\nsum 0.99895", reverse).why
    measure = Measure.of(ran(first), ran(first), [ran(reverse)])
    said = list(measure.left_out(True, "none"))
    assert any("4 times the original's differences" in each and "line 1 within 0.004" in each for each in said)
    # The original itself is compared within the error of sums: beyond it, it is no reference.
    assert not compared(first, reverse, reverse, side="original").why
    assert compared(first, "sum 1.1\nn 1", "sum 1.1\nn 1", side="original").why
    assert compared(first, "sum 1.1\nn 1", "sum 1.1\nn 1").why
    for other in ("sum 1.0\nm 1", "sum 1.0"):
        assert not Measure.of(ran(first), ran(first), [ran(other)]).varying["stdout"].spreads


def test_sums_in_lines_that_move_have_a_spread() -> None:
    first = "block 0: 1.000000\nblock 1: 2.000000\ntook 3 ms"
    reverse = "block 1: 2.000031\nblock 0: 1.000021\ntook 4 ms"
    assert not compared(first, "block 1: 1.999950\nblock 0: 1.000070\ntook 9 ms", reverse).why
    assert compared(first, "block 1: 1.999950\nblock 0: 1.000170\ntook 9 ms", reverse).why
    assert compared(first, "block 1: 1.000000\nblock 0: 2.000000\ntook 9 ms", reverse).why


@pytest.mark.parametrize(
    ("line", "other", "same"),
    [
        ("sum 100032", "sum 100016", False),  # One of 64 lanes counts, instead of one of 32.
        ("sum 100032.000", "sum 100016.000", False),
        ("sum 100032.25", "sum 100032.50", True),  # Added in another order.
        ("sum 100032.25", "sum 100034.25", False),  # A lane is missing.
        ("sum 0.50012", "sum 0.50036", False),
        ("sum 1.00000e+07", "sum 1.00001e+07", True),
        ("sum 1.00000e+07", "sum 1.00002e+07", False),
        ("mean 1.0e-07", "mean 2.5e-08", False),
        ("mean 1.234e-07", "mean 1.235e-07", True),  # Its last digit.
        ("mean 1.234e-07", "mean 1.236e-07", False),
        ("mean 0.0000012", "mean 0.0000003", False),
        ("mean 0.0000012", "mean 0.0000013", False),  # The last digit is a part of the number.
        ("mean 0.1234", "mean 0.1235", True),
        ("mean 0.12", "mean 0.13", False),
        ("mean 0", "mean 0.1", False),
        ("mean 0.000000", "mean 0.000001", True),  # Zero, and a difference of larger numbers.
        ("mean 0.0000", "mean 0.0001", False),
        ("mean 0", "mean 1e-9", False),
        ("max error: 0", "max error: 5.96e-08", True),  # A rounding error.
        ("max error: 0", "max error: 0.01", False),
        ("sum 1.0e-7, max error: 0", "sum 5.0e-7, max error: 0", False),  # Beside an error.
        ("errors: 0", "errors: 1", False),
        ("value(s): 5", "value(s): 6", False),
        ("16777217 and 3", "16777216 and 3", False),
        ("9007199254740993", "9007199254740992", False),  # A double has not both.
        ("18446744073709551615", "18446744073709551614", False),
        ("007", "7", True),
        ("n 0", "n -0", False),
        ("x 0.0", "x -0.0", False),
        ("x 0.000000", "x -0.000000", True),  # Rounded.
        ("x 1.5", "x -1.5", False),
        ("x 1.5", "x nan", False),
        ("x nan", "x -nan", True),  # The sign of a processor's NaN.
        ("x inf", "x -inf", False),
        ("x inf", "x nan", False),
        ("hash 0x1000e9", "hash 0x1001e9", False),
        ("hash 1000e9ab", "hash 1001e9ab", False),
        ("hash 12e4", "hash 13e4", False),
        ("lane5 100.00001", "lane6 100.00001", False),
        ("1,234,567", "1,234,568", False),
        ('{"sum": 1.5, "n": [1, 2]}', '{"sum": 1.5, "n": [1, 3]}', False),
        ("|  9.999999 |", "| 10.000001 |", True),  # A column.
        ("..#..#", "..# .#", False),
        ("a  b", "a b", False),
    ],
)
def test_integers_are_exact_and_small_numbers_are_compared_with_themselves(line: str, other: str, same: bool) -> None:
    assert compared(line, other).ok is same, read(line)


def test_a_gpu_has_functions_of_its_own() -> None:
    assert compared("sum 0.50012", "sum 0.50036").why and not compared("sum 0.50012", "sum 0.50036", side="gpu").why
    assert compared("sum 0.50012", "sum 0.50136", side="gpu").why
    assert compared("sum 5", "sum 6", side="gpu").why


@pytest.mark.parametrize(
    ("line", "other", "same"),
    [
        ("sum = 12345, time = 3.2 ms", "sum = 12345, time = 9.1 ms", True),
        ("sum = 12345, time = 3.2 ms", "sum = 12346, time = 3.2 ms", False),
        ("time = 3.2 ms: sum 5", "time = 9.2 ms: sum 6", False),
        ("took 12.5ms for 7", "took 970us for 7", True),
        ("took 12.5ms for 7", "took 970us for 8", False),
        ("kernel_time_ms: 3 count: 4", "kernel_time_ms: 5 count: 4", True),
        ("kernel_time_ms: 3 count: 4", "kernel_time_ms: 3 count: 5", False),
        ("1.2 GOp/s, Time = 0.01 ms, Size = 1024", "1.3 GOp/s, Time = 0.02 ms, Size = 1024", True),
        ("1.2 GOp/s, Time = 0.01 ms, Size = 1024", "1.2 GOp/s, Time = 0.01 ms, Size = 1023", False),
        ("Elapsed: 0:00:03", "Elapsed: 0:01:12", True),
        ("without the time, sum: 5", "without the time, sum: 6", False),
        ("time step 5: energy 3.21", "time step 6: energy 3.21", False),
        ("time step 5: energy 3.21", "time step 5: energy 4.21", False),
        ("velocity 5.5 m/s", "velocity 6.5 m/s", False),
        ("moved 5.5 GB/s, 3 lost", "moved 7.5 GB/s, 3 lost", True),
        ("moved 5.5 GB/s, 3 lost", "moved 5.5 GB/s, 4 lost", False),
        ("max 9 min 5", "max 8 min 5", False),
        ("repeated 3 times 5", "repeated 3 times 6", False),
        ("active lanes per warp: 32", "active lanes per warp: 64", False),
        ("Warp size: 32, 32 set", "Warp size: 64, 32 set", True),
        ("Warp size: 32, 32 set", "Warp size: 64, 64 set", False),
    ],
)  # fmt: skip
def test_a_time_hides_no_value_beside_it(line: str, other: str, same: bool) -> None:
    assert compared(line, other).ok is same, read(line)


def test_a_value_of_the_device_hides_nothing_beside_it() -> None:
    first, again = ran("on Board 80 the sum is 5"), ran("on Big Board 94 the sum is 5")
    measure = Measure.of(first, again, [])
    for other, same in (
        ("on AMD thing the sum is 5", True),
        ("on AMD thing the sum is 6", False),
        ("at AMD thing the sum is 5", False),
        ("on AMD thing the sum was 5", False),
        ("on the", False),
    ):
        assert measure.outcome("x", ran(other)).ok is same, other


def test_output_on_stderr_is_compared() -> None:
    first = replace(ran("a"), said=("sum 5",))
    for said, same in ((("sum 5",), True), (("sum 6",), False), ((), False), (("sum 5", "sum 5"), False)):
        outcome = Measure.of(first, first, []).outcome("x", replace(first, said=said))
        assert outcome.ok is same, outcome
    # Messages of a GPU's runtime there are not the program's.
    assert Measure.of(first, first, []).outcome("x", replace(first, said=()), "gpu").ok
    nothing = Measure.of(ran("a"), ran("a"), []).outcome("x", ran("a"))
    assert [each.name for each in nothing.outputs] == ["exit status", "stdout"]
    assert not Measure.of(ran("a"), ran("a"), []).outcome("x", replace(ran("a"), said=("surprise",))).ok


def test_every_tolerance_is_printed_with_its_source() -> None:
    first = "sum 100032.25\nmean 1.234e-07\nmax error: 0\ntotal 1.00000\nn 5"
    other = "sum 100032.50\nmean 1.235e-07\nmax error: 5e-08\ntotal 1.00210\nn 5"
    orders = "sum 100032.25\nmean 1.234e-07\nmax error: 0\ntotal 1.00090\nn 5"
    found = compared(first, other, orders)
    assert not found.why
    origins = {each.origin: (each.count, each.where) for each in found.tolerances}
    assert origins == {
        "1e-05 of the number, as stated": (1, (1,)),
        "the last digit printed": (1, (2,)),
        "1e-06, as the line tells an error": (1, (3,)),
        "4 times the original's own in other orders of its threads": (1, (4,)),
    }
    measure = Measure.of(ran(first), ran(first), [ran(orders)])
    outcome = measure.outcome("x", ran(other))
    side = results.Configuration("ported", 64, "forward")
    verified = results.Verified(Path(), "x", (results.Ran(side, (outcome,)),), tuple(measure.left_out(True, "none")))
    text = verify_report.as_text(verified)
    assert "within a tolerance:\n" in text
    for origin in origins:
        (line,) = [each for each in text.splitlines() if each.endswith(f": {origin}")]
        assert line.startswith("  x: stdout, against original: 1 differ, by ")
    values = verify_report.as_values(verified)["configurations"][0]["cases"][0]["outputs"][1]["differences"][0]
    assert {each["origin"] for each in values["tolerances"]} == set(origins)
    # Also if it is exceeded.
    wrong = results.Verified(
        Path(), "x", (results.Ran(side, (measure.outcome("x", ran(other.replace("032.50", "040.50"))),)),), ()
    )
    assert "allowed 1: 1e-05 of the number, as stated" in verify_report.as_text(wrong)


def test_truncated_output_is_reported() -> None:
    first = replace(ran("a"), cut=16)
    assert "what it prints behind its first 16 bytes" in list(Measure.of(first, first, []).left_out(True, "none"))


def test_lines_move_only_where_the_original_moves_them() -> None:
    first = "begin\nlane 0\nlane 1\nlane 2\nend\nrow 0\nrow 1"
    reverse = "begin\nlane 2\nlane 1\nlane 0\nend\nrow 0\nrow 1"
    # The middle line, which stayed, moves as well.
    assert Measure.of(ran(first), ran(first), [ran(reverse)]).varying["stdout"].moved == ((1, 2, 3),)
    for other, same in (
        ("begin\nlane 1\nlane 0\nlane 2\nend\nrow 0\nrow 1", True),
        ("begin\nlane 1\nlane 1\nlane 2\nend\nrow 0\nrow 1", False),
        ("lane 1\nbegin\nlane 0\nlane 2\nend\nrow 0\nrow 1", False),
        ("begin\nlane 0\nlane 1\nlane 2\nend\nrow 1\nrow 0", False),
    ):
        assert compared(first, other, reverse).ok is same, other
    # Lines that are no permutation of the same ones show nothing.
    other = "begin\nlane 2\nlane 1\nlane 3\nend\nrow 0\nrow 1"
    assert not Measure.of(ran(first), ran(first), [ran(other)]).varying["stdout"].moved
    said = list(Measure.of(ran(first), ran(first), [ran(reverse)]).left_out(True, "none"))
    assert any("the order of 3 lines" in each for each in said)


def test_a_line_of_the_host_keeps_its_place_though_it_looks_like_a_threads() -> None:
    first = "lane 9\nlane 0\nlane 1\nlane 2\nlane 9\nlane 3\nlane 4\nlane 5\nlane 6"
    reverse = "lane 9\nlane 2\nlane 1\nlane 0\nlane 9\nlane 4\nlane 3\nlane 6\nlane 5"
    measure = Measure.of(ran(first), ran(first), [ran(reverse)])
    # Two launches; the second has two groups, one of which ends before the other begins.
    assert measure.varying["stdout"].moved == ((1, 2, 3), (5, 6), (7, 8))
    for other, same in (
        ("lane 9\nlane 1\nlane 0\nlane 2\nlane 9\nlane 3\nlane 4\nlane 6\nlane 5", True),
        ("lane 0\nlane 9\nlane 1\nlane 2\nlane 9\nlane 3\nlane 4\nlane 5\nlane 6", False),
        ("lane 9\nlane 0\nlane 1\nlane 9\nlane 2\nlane 3\nlane 4\nlane 5\nlane 6", False),
        ("lane 9\nlane 0\nlane 1\nlane 3\nlane 9\nlane 2\nlane 4\nlane 5\nlane 6", False),
        ("lane 9\nlane 0\nlane 1\nlane 2\nlane 9\nlane 5\nlane 6\nlane 3\nlane 4", False),
    ):
        assert measure.outcome("x", ran(other)).ok is same, other


def test_lines_move_beside_times_and_varying_values() -> None:
    first, again = "seed 17\nlane 0\nlane 1\ntook 3 ms", "seed 99\nlane 0\nlane 1\ntook 5 ms"
    measure = Measure.of(ran(first), ran(again), [ran("seed 4\nlane 1\nlane 0\ntook 4 ms")])
    assert measure.varying["stdout"].moved == ((1, 2),)
    assert measure.outcome("x", ran("seed 5\nlane 1\nlane 0\ntook 9 ms")).ok
    assert not measure.outcome("x", ran("seed 5\nlane 1\nlane 2\ntook 9 ms")).ok


def test_an_original_that_fails_its_own_check_is_no_reference() -> None:
    first = ran("FAIL", 1)
    for other, ok in ((ran("PASS"), True), (ran("FAIL", 1), False), (first, False)):
        outcome = Measure(first).outcome("x", other)
        status, printed = (d.ok for output in outcome.outputs for d in output.differences)
        assert (status, printed) == (ok, True)


def test_the_last_output_of_a_failing_original_is_shown_once() -> None:
    first = program_runs.ProgramRun(1, ("1",), "sizes\n\nexpected 3\ngot 4\n", 0.1, ())
    outcome = Measure(first).outcome("x", first)
    sides = (results.Configuration("original", 32, "forward"), results.Configuration("ported", 64, "forward"))
    verified = results.Verified(Path(), "x", tuple(results.Ran(side, (outcome,)) for side in sides), ())
    said = verify_report.as_text(verified)
    assert said.count("\n    sizes\n    expected 3\n    got 4\n") == 1 and said.count("got 4") == 1
    # It equals itself in its first order: the message does not mention orders.
    assert not verified.depends_on_order and "another order" not in said.replace("\n", " ")
    # Also if standard output reports it; and no message for a right one.
    assert Measure(first).outcome("x", ran("FAIL", 1)).message == "FAIL"
    assert Measure(first).outcome("x", ran("PASS")).message == ""


def test_an_original_that_fails_its_check_verifies_no_port() -> None:
    first = program_runs.ProgramRun(1, ("FAIL",), "", 0.1, ())
    sides = (results.Configuration("original", 32, "forward"), results.Configuration("ported", 64, "forward"))
    outcomes = [Measure(first).outcome("x", each) for n, each in enumerate((first, ran("PASS")))]
    verified = results.Verified(
        Path(), "x", tuple(results.Ran(side, (each,)) for side, each in zip(sides, outcomes, strict=True)), ()
    )
    assert outcomes[1].ok and not verified.ok and verified.without_reference == ("x",)
    said = verify_report.as_text(verified)
    assert said.endswith("nothing to compare with: the original fails its own check in x\n")
    # Nor if it passes in another order: the first output is the reference.
    in_reverse = results.Configuration("original", 32, "reverse")
    passes = results.Ran(in_reverse, (Measure(first).outcome("x", ran("PASS")),))
    assert passes.ok and not replace(verified, ran=(*verified.ran, passes)).ok


def test_an_original_with_races_is_distinguished_from_an_endless_one() -> None:
    side = results.Configuration("original", 32, "forward")
    for level, said in (("warning", "the original has races in x"), ("fault", "the original does not end in x")):
        fault = results.Fault("race", "two writes", Path("x.cu"), 3, "k", level)
        outcome = Measure(ran("1")).outcome("x", replace(ran("1"), faults=(fault,)))
        verified = results.Verified(Path(), "x", (results.Ran(side, (outcome,)),), ())
        assert verify_report.as_text(verified).endswith(f"nothing to compare with: {said}\n")
