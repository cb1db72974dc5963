"""Groups and resources in the words of the scripts: what a head says of them, and what jobs tell of their rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from noria.model.groups import MAX_NEEDS, GroupRef, Need, Rule
from noria.model.job import NewJob

_NO_GROUP: Final = "\t"
_encode = msgspec.json.Encoder().encode


def tie(job: NewJob) -> str:
    """The group and the needs of a new job, as its head has them: its turn, what it needs, family and key.

    Raises:
        ValueError: it needs too much.
    """
    if job.group is None and not job.needs:
        return ""
    if len(job.needs) > MAX_NEEDS:
        raise ValueError(f"it needs {len(job.needs)} resources, and {MAX_NEEDS} is the limit")
    gate = " ".join(sorted({need.name for need in job.needs}))
    group = _NO_GROUP if job.group is None else group_name(job.group.ref)
    return f"0\t{gate}\t{group}"


def group_name(ref: GroupRef) -> str:
    """A group as the keys have it."""
    return f"{ref.family}\t{ref.key}"


def group_of(tie: str) -> GroupRef | None:
    """The group of a head."""
    if not tie:
        return None
    _, _, family, key = tie.split("\t")
    return GroupRef(family, key) if family else None


def needs_of(tie: str) -> tuple[str, ...]:
    """The names of the resources that a head needs."""
    return tuple(tie.split("\t")[1].split()) if tie else ()


def told(jobs: Iterable[NewJob]) -> bytes:
    """What jobs tell of the rules of their families and of resources, as `declare.lua` takes it."""
    rules: dict[str, Rule] = {}
    needs: dict[str, Need] = {}
    for job in jobs:
        if job.group is not None and job.group.rule is not None:
            rules[job.group.ref.family] = job.group.rule
        for need in job.needs:
            if need.capacity is not None or need.rate is not None:
                needs[need.name] = need
    return declaration(rules, needs)


def declaration(rules: Mapping[str, Rule], needs: Mapping[str, Need]) -> bytes:
    """Rules and resources as `declare.lua` takes them; empty if there are none."""
    if not rules and not needs:
        return b""
    texts = {
        "families": {family: _encode(rule).decode() for family, rule in rules.items()},
        "resources": {name: _encode(need).decode() for name, need in needs.items()},
    }
    return _encode(texts)
