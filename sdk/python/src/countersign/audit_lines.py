"""The lines of an export: JSON, one object per line, with known fields of the right types."""

import json
import re
from typing import Any

from countersign.audit_findings import Finding
from countersign.merkle import HASH
from countersign.verified_token import UUID

VERSIONS = (1, 2)
# Far more than any line has.
MAX_LINE_LENGTH = 16 * 1024 * 1024
STRING, NUMBER = (str,), (int, float)
CHECKPOINT_FIELDS: dict[str, tuple[type, ...]] = {
    "organizationId": STRING,
    "number": NUMBER,
    "size": NUMBER,
    "head": STRING,
    "at": STRING,
    "signed": STRING,
}
REQUIRED: dict[str, dict[str, tuple[type, ...]]] = {
    "export": {"version": NUMBER},
    "key": {"number": NUMBER, "keyId": STRING, "at": STRING, "signed": STRING},
    "anchor": {"organizationId": STRING, "number": NUMBER, "at": STRING, "signed": STRING},
    "link": {
        "organizationId": STRING,
        "sequence": NUMBER,
        "eventId": STRING,
        "time": STRING,
        "eventHash": STRING,
        "hash": STRING,
        "linkedOn": STRING,
    },
    "checkpoint": CHECKPOINT_FIELDS,
    "start": CHECKPOINT_FIELDS,
    "logProof": {
        "organizationId": STRING,
        "number": NUMBER,
        "treeHead": NUMBER,
        "leafIndex": NUMBER,
        "treeSize": NUMBER,
        "checkpoint": STRING,
    },
    "end": {},
}
# Beside the required ones. Signatures and hashes cover the values of all fields.
OPTIONAL = {
    "link": {"event"},
    "checkpoint": {"previous", "keyId", "takenOn", "inclusion"},
    "start": {"previous", "keyId", "takenOn", "inclusion"},
    "logProof": {"proof"},
    "end": {"chains", "events", "signed"},
}
EVENT_FIELDS = {"canonical", "appendedIn", "seal"}
INCLUSION_FIELDS = {"treeHead", "treeSize", "leafIndex", "proof"}
TIME = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z", re.ASCII)
PART = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:]', re.DOTALL)


class _Repeated(Exception):
    """A field is there twice."""


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise _Repeated
    return fields


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _number(text: str) -> int | float:
    """As all programs read it: a double. The limits and the speed of Python's integers differ."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 1e21 else number


_numbers: dict[str, Any] = {
    "parse_int": _number,
    "parse_float": _number,
    "parse_constant": _refuse_constant,
}
# Of a repeated field, the last value counts.
_any_json = json.JSONDecoder(**_numbers)
_strict_json = json.JSONDecoder(object_pairs_hook=_refuse_repeated, **_numbers)


def parse_json(text: str) -> Any:
    return _any_json.decode(text)


def parse_line(text: str, organization_id: str | None) -> dict[str, Any]:
    """A line with fields of the right types, each of them known, and none of them twice.

    Raises errors of several kinds for a line that is not valid. `organization_id` is that of the
    chain before it, for findings.
    """
    if len(text) > MAX_LINE_LENGTH:
        raise ValueError("too long")
    is_repeated = False
    try:
        line = _strict_json.decode(text)
    except _Repeated:
        is_repeated = True
        line = parse_json(text)
    kind = line["kind"]
    _check_types(kind, line)
    # A repeated or unknown field: another program may read a value here that was not verified.
    if is_repeated:
        field = _repeated_field(text)
        raise Finding("EXPORT_FIELD_REPEATED", field=field, organization_id=organization_id)
    known = {"kind", *REQUIRED[kind], *OPTIONAL.get(kind, ())}
    unknown = [
        *(name for name in line if name not in known),
        *(name for name in (kind == "link" and line["event"]) or () if name not in EVENT_FIELDS),
        *(name for name in line.get("inclusion") or () if name not in INCLUSION_FIELDS),
    ]
    if unknown:
        field = unknown[0]
        raise Finding("EXPORT_FIELD_UNKNOWN", field=field, organization_id=organization_id)
    return dict(line)


def _check_types(kind: str, line: dict[str, Any]) -> None:
    has_types = (
        all(_is_a(line[name], types) for name, types in REQUIRED[kind].items())
        and (kind != "link" or _is_link(line))
        and ("inclusion" not in line or _is_inclusion(line["inclusion"]))
        and (kind != "logProof" or _is_list_of_texts(line["proof"]))
    )
    if not has_types:
        raise ValueError("a field has another type")


def _is_a(value: Any, types: tuple[type, ...]) -> bool:
    return isinstance(value, types) and not isinstance(value, bool)


def _is_link(line: dict[str, Any]) -> bool:
    """Each value has one spelling: the record of a link has no separators.

    No event proves the values of a link whose event retention dropped.
    """
    event = line["event"]
    return (
        UUID.fullmatch(line["eventId"]) is not None
        and TIME.fullmatch(line["time"]) is not None
        and HASH.fullmatch(line["eventHash"]) is not None
        and (event is None or all(isinstance(event[name], str) for name in EVENT_FIELDS))
    )


def _is_inclusion(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(_is_a(value.get(name), NUMBER) for name in ("treeHead", "treeSize", "leafIndex"))
        and _is_list_of_texts(value.get("proof"))
    )


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _repeated_field(json_text: str) -> str:
    """The first field that is there twice in valid JSON."""
    open_names: list[set[str]] = []
    text = '""'
    for part in PART.findall(json_text):
        if part in "{[":
            open_names.append(set())
        elif part in "}]":
            open_names.pop()
        elif part != ":":
            text = part
        else:
            name = str(json.loads(text))
            if name in open_names[-1]:
                return name
            open_names[-1].add(name)
    raise ValueError("no field is there twice")
