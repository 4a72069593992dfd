# SPDX-License-Identifier: Apache-2.0
"""Plan the installation of a repository's requirements on ROCm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hipport.core.finding import Certainty
from hipport.core.tables import Words
from hipport.engine.pipeline import run
from hipport.program.project import Project
from hipport.toolchain.install_plan import InstallCheck, LeftOut, Package, PackageMention, Plan, PlannedChange
from hipport_passes.packages import recipes as table
from hipport_passes.packages import requirements
from hipport_passes.packages.asking import Asking
from hipport_passes.packages.family_mentions import found_families
from hipport_passes.packages.install_steps import ByHand, InstallSteps, conflict
from hipport_passes.packages.recipes import Family, release

# Files whose packages are part of a plan.
_WORDS = Words.read(Path(__file__).with_name("package_words.toml"))
_LISTS = _WORDS.compile(r"(?i)\.(?&plan_suffixes)$|(?&dockerfile)|^(?&setup_script)$")

#: The release with the fastest attention, if no package needs an older one.
_FAST = "7.2"


def plan(project: Project, rocm: tuple[int, int] | None = None) -> Plan:
    """Return the plan for installing the repository on ROCm: on `rocm`, or on the release that suits its packages."""
    rules = table.of(project)
    found = found_families(project, rules)
    chosen, reason = (rocm, "as asked for") if rocm else _release(found, project)
    index, image = rules.index(chosen), rules.image(chosen)
    name = f"{chosen[0]}.{chosen[1]}"
    ported = run(replace(project, target=replace(project.target, rocm=chosen)), (requirements.PASS,))
    named = {family.name: family for family in rules.families}
    families = [named[each] for each in found]
    separate = [family for family in families if family.action == "separate"]
    with_torch = [
        family.distributions[0]
        for family in separate
        if family.with_torch and family.is_for(name) and not conflict(found)
    ]
    environment = {"PYTORCH_ROCM_ARCH": ";".join(project.target.archs), "GPU_ARCHS": ";".join(project.target.archs)}
    for family in families:
        environment |= family.environment
    notes = [note for family in families for note in _notes(family, name, found)]
    by_hand = ByHand(Asking(ported.project))
    steps = tuple(InstallSteps(project, ported, found, by_hand).all(separate, index.url, name))
    if any(command.startswith("conda ") for step in steps for command in step.commands):
        notes.append(
            "conda packages may require conda's own PyTorch: the script keeps it out, and stops where a package insists"
        )
    changes = tuple(
        PlannedChange(each.path, each.line, each.message, each.certainty is Certainty.MANUAL)
        for each in ported.reported
        if not each.rule.endswith(("/archs", "/told"))
    )
    changes += tuple(
        PlannedChange(
            each.path, 1, f"this file was not read, so the plan lacks the packages that it needs: {each.why}", True
        )
        for each in project.skipped
        if each.kind == "refused" and _LISTS.search(each.path.name)
    )
    return Plan(
        root=project.root.as_posix() if project.root else "",
        rocm=name,
        reason=reason,
        image=image.name,
        index=index.url,
        torch=("torch", "torchvision", "torchaudio", *with_torch),
        packages=tuple(
            Package(f.name, f.action, f.why, tuple(found[f.name]), f.date, f.rocm, f.source) for f in families
        ),
        changes=changes,
        missing=tuple(each.path.as_posix() for each in project.skipped if each.kind == "missing"),
        steps=steps,
        environment=environment,
        checks=tuple(
            InstallCheck(f.name, f.check.strip(), f.imports, f.optional)
            for f in (named["torch"], *(f for f in families if f.name != "torch"))
            if f.check and f.is_for(name)
        ),
        notes=tuple(notes),
        left_out=tuple(LeftOut(text, why) for text, why in by_hand.said.items()),
    )


def _release(found: dict[str, list[PackageMention]], project: Project) -> tuple[tuple[int, int], str]:
    """Return the release that suits the packages found, and why."""
    recipes = table.of(project)
    rules = {family.name: family for family in recipes.families}
    bound = [rules[name] for name in found if rules[name].releases]
    if bound:
        built = {each for family in bound for each in family.releases}
        # For other releases, PyTorch would not match the packages or the image.
        whole = built & {each.rocm for each in recipes.indexes} & {each.rocm for each in recipes.images}
        counted = {each: sum(each in family.releases for family in bound) for each in whole or built}
        best = max(counted, key=lambda each: (counted[each], release(each)))
        names = ", ".join(family.name for family in bound if best in family.releases)
        return release(best), f"{names} have builds for it"
    if "flash-attn" in found:
        return release(_FAST), "attention is fastest with it, and no package needs an older release"
    if found:
        return project.target.rocm, "no package needs a certain release: keep the installed PyTorch for ROCm"
    return project.target.rocm, "plain PyTorch: keep the installed PyTorch for ROCm"


def _notes(family: Family, rocm: str, found: dict[str, list[PackageMention]]) -> Iterator[str]:
    if family.action == "leave":
        yield f"{family.name}: {family.why}"
    if family.releases and not family.is_for(rocm):
        fallback = ", ".join(f"{name}={value}" for name, value in family.fallback.items())
        yield f"{family.name}: no build is known for ROCm {rocm}{'; without it: ' + fallback if fallback else ''}"
    if family.name == "xformers" and conflict(found):
        yield (
            "xformers: its wheels need a newer PyTorch than those of gsplat and pytorch3d; PyTorch's own attention "
            "replaces it"
        )
    if family.name == "flash-attn" and release(rocm) >= (7, 0):
        yield "flash-attn: amd-aiter (not the package called aiter) is faster on MI300 with ROCm 7"
