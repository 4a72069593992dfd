# SPDX-License-Identifier: Apache-2.0
"""Ask clusters for AMD's GPUs instead of NVIDIA's: manifests of Kubernetes, and values of Helm charts.

A container gets a GPU by the resource that a device plugin offers, `nvidia.com/gpu` or `amd.com/gpu` (kubernetes.io,
"Schedule GPUs"). Limits, requests, quotas and taints of that name are renamed, which is REVIEW, because the cluster
must have AMD's plugin. Labels that select nodes by GPU are named by each vendor's software, and slices of a GPU (MIG)
are NVIDIA's: both are reported. AMD's containers need no runtime class. Images become those for ROCm as in compose
files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.shell import Word
from hipport.syntax.yaml import Manifest, YamlEntry
from hipport_passes.packages.asking import Asking, knows_rocm, unless_both
from hipport_passes.packages.image_environment import image

_WORDS = Words.read(Path(__file__).with_name("deployment_words.toml"))
_RESOURCE = _WORDS.compile(rb"(?<![\w./-])(?&bounds)?(?P<vendor>(?&vendor))(?&gpu)(?![\w./-])")
_OWN = _WORDS.compile(rb"(?&vendor_of_port)(?&gpu)(?![\w./-])")
_SLICE = _WORDS.compile(rb"(?&vendor)(?:(?&slices)[\w.]+|(?&shared_gpu))")
_LABEL = _WORDS.compile(rb"(?<![\w./-])(?&vendor)(?&domain)(?!(?&slice))[\w.-]+")
_LABELLED = frozenset(("nodeSelector", "matchLabels", "matchExpressions", "labels"))
_GOOGLE = "cloud.google.com/gke-accelerator"


def find(source: Manifest, project: Project) -> Iterator[Finding]:
    """Yield a finding per resource, label, slice, runtime class and image that is NVIDIA's."""
    found = list(_find(source, project))
    # The file may have a part for each vendor.
    both = _OWN.search(source.text) is not None and knows_rocm(source, _OWN, Asking(project))
    yield from unless_both(found) if both else found


def _find(source: Manifest, project: Project) -> Iterator[Finding]:
    asking = Asking(project)
    for each in source.entries:
        # Only the key and the rest of its line: the lines below are entries of their own.
        value = each.value if not each.block else Span(each.value.start, each.value.start)
        key = Span(each.span.start, each.span.start + len(each.key) + 2) if each.key else Span(value.start, value.start)
        said = source[value]
        if each.key == "runtimeClassName" and said == b"nvidia":
            message = "NVIDIA's runtime class: containers need none for AMD's GPUs; leave it out"
            yield Finding(each.span, "runtime_class", message, (), Certainty.MANUAL)
        elif each.key == "image" and said:
            name = said.decode("utf-8", "replace")
            yield from image(Word(name, value), name, value.start, asking)
        elif each.key == _GOOGLE or (each.key == "key" and said == _GOOGLE.encode()):
            message = "a label of nodes with NVIDIA's GPUs: use the label of the nodes with AMD's"
            yield Finding(each.span if not each.block else key, "label", message, (), Certainty.MANUAL)
        else:
            yield from _named(source, each, key, value)


def _named(source: Manifest, each: YamlEntry, key: Span, value: Span) -> Iterator[Finding]:
    labelled = bool(_LABELLED & {*each.keys, each.key})
    for place in (key, value):
        if sliced := _SLICE.search(source.text, place.start, place.end):
            message = "a slice of an NVIDIA GPU: AMD's plugin offers whole GPUs as amd.com/gpu, or partitions"
            yield Finding(Span(*sliced.span()), "slice", message, (), Certainty.MANUAL)
            continue
        resource = _RESOURCE.search(source.text, place.start, place.end)
        label = _LABEL.search(source.text, place.start, place.end)
        if resource and not labelled:
            message = "the GPUs that AMD's device plugin offers; assumes that the cluster has it"
            edit = Edit(Span(*resource.span("vendor")), b"amd")
            yield Finding(Span(*resource.span()), "resource", message, (edit,), Certainty.REVIEW)
        elif label and (labelled or each.key == "key"):
            message = (
                "a label that NVIDIA's software gives to nodes: AMD's node labeller gives amd.com/gpu.family and others"
            )
            yield Finding(Span(*label.span()), "label", message, (), Certainty.MANUAL)


PASS = Pass(Manifest, find)
