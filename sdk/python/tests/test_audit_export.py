import json
import math
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from audit_log import Instance

from countersign import AuditExportError, verify_audit_export
from countersign.audit_days import Days
from countersign.audit_statements import checkpoint_text, unverified_claims
from countersign.merkle import leaf_hash

EXPORTS = json.loads((Path(__file__).parents[2] / "vectors.json").read_text())["auditExports"]


def export(name: str) -> dict[str, Any]:
    return next(each for each in EXPORTS if each["name"] == name)


def rows(case: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    lines = (json.loads(line) for line in case["lines"] if line)
    return [line for line in lines if line["kind"] == kind]


def kept(row: dict[str, Any]) -> str:
    """The entry of GET /audit/checkpoints."""
    inclusion = {"checkpoint": checkpoint_text(row)}
    return json.dumps({"signed": row["signed"], "inclusion": inclusion})


def test_the_checkpoint_that_an_anchor_names_is_in_the_log() -> None:
    whole, rest = export("one organization"), export("after retention has dropped links")
    named = unverified_claims(rows(rest, "anchor")[0]["signed"])["checkpoint"]["hash"]
    dropped = [row for row in rows(whole, "checkpoint") if leaf_hash(checkpoint_text(row)) == named]
    assert len(dropped) == 1
    assert dropped[0]["number"] not in [row["number"] for row in rows(rest, "checkpoint")]
    verify_audit_export(rest["lines"], kept(dropped[0]), jwks=rest["jwks"])


def test_space_around_a_checkpoint_does_not_matter() -> None:
    case = export("one organization")
    checkpoint = kept(rows(case, "checkpoint")[0])
    verify_audit_export(case["lines"], f"\n {checkpoint}\r\n", jwks=case["jwks"])


def test_neither_keys_nor_empty_lines_are_read_without_end() -> None:
    case = export("one organization")
    header, key = case["lines"][:2]
    # Eight megabytes each, of 64 together.
    large = json.dumps({**json.loads(key), "signed": "A" * 2**23})
    for line, expected in ((key, 10_001), (large, 8), ("", 1_001)):
        read = 0

        def lines(line: str = line) -> Any:
            nonlocal read
            yield header
            for read in range(1, 20_000):  # noqa: B007
                yield line

        with pytest.raises(AuditExportError) as refusal:
            verify_audit_export(lines(), jwks=case["jwks"])
        assert (refusal.value.code, read) == ("EXPORT_LINE_INVALID", expected)


def test_one_carriage_return_may_be_before_the_end_of_a_line() -> None:
    case = export("one organization")
    verify_audit_export([f"{line}\r\n" for line in case["lines"]], jwks=case["jwks"])
    assert code_of(case, [*case["lines"], "\r\n"]) is None
    assert code_of(case, [*case["lines"], "\r\r\n"]) == "EXPORT_LINE_INVALID"
    assert code_of(case, ["\ufeff" + case["lines"][0], *case["lines"][1:]]) == "EXPORT_LINE_INVALID"


def code_of(case: Any, lines: Any) -> str | None:
    try:
        verify_audit_export(lines, jwks=case["jwks"])
    except AuditExportError as error:
        return error.code
    return None


def changed(case: Any, kind: str, change: Callable[[Any], Any]) -> list[str]:
    """With a change of the first line of this kind that has one."""
    lines = list(case["lines"])
    for place, text in enumerate(lines):
        line = json.loads(text) if text else {}
        other = change(dict(line)) if line.get("kind") == kind else None
        if other is not None:
            lines[place] = other if isinstance(other, str) else json.dumps(other)
            return lines
    raise ValueError("nothing to change")


def without_event(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Of a link whose event retention dropped."""
    return lambda line: change(line) if line["event"] is None else None


def respelled(line: dict[str, Any]) -> dict[str, Any]:
    """The same bits, and some more at the end."""
    return {**line, "signed": line["signed"][:-1] + chr(ord(line["signed"][-1]) + 1)}


def moved_digit(line: dict[str, Any]) -> dict[str, Any]:
    """The same record: its last values are one digit longer and shorter."""
    event_hash = line["eventHash"]
    record = f"{line['eventId'].replace('-', '')}{microseconds(line['time']):016x}{event_hash}"
    time = YEAR_2000 + timedelta(microseconds=int(record[33:49], 16))
    return {
        **line,
        "eventId": record[:33],
        "time": f"{time:%Y-%m-%dT%H:%M:%S.%f}Z",
        "eventHash": record[49:],
    }


def microseconds(time: str) -> int:
    since = datetime.fromisoformat(f"{time[:-1]}+00:00") - YEAR_2000
    return since // timedelta(microseconds=1)


YEAR_2000 = datetime(2000, 1, 1, tzinfo=timezone.utc)
ONE, RETAINED = export("one organization"), export("after retention")
EVENTS = [row for row in rows(RETAINED, "link") if row["event"]]


@pytest.mark.parametrize(
    "case, kind, change, code",
    [
        (ONE, "end", lambda line: {**line, "chains": True}, "EXPORT_NUMBERS_DIFFER"),
        (ONE, "end", lambda line: {**line, "chains": 1.0}, None),
        (ONE, "end", respelled, "EXPORT_NOT_SIGNED"),
        (ONE, "export", lambda line: {**line, "version": True}, "EXPORT_LINE_INVALID"),
        (ONE, "export", lambda line: {**line, "version": math.nan}, "EXPORT_LINE_INVALID"),
        (ONE, "export", lambda line: {**line, "version": 10**4000}, "EXPORT_VERSION_UNKNOWN"),
        (ONE, "export", lambda line: json.dumps(line) + " " * 2**24, "EXPORT_LINE_INVALID"),
        (ONE, "link", lambda line: {**line, "kind": ["link"]}, "EXPORT_LINE_INVALID"),
        (
            ONE,
            "link",
            lambda line: {**line, "event": {**line["event"], "appendedIn": 7}},
            "EXPORT_LINE_INVALID",
        ),
        (
            RETAINED,
            "link",
            without_event(lambda line: {**line, "eventId": line["eventId"].replace("-", "")}),
            "EXPORT_LINE_INVALID",
        ),
        (
            RETAINED,
            "link",
            without_event(lambda line: {**line, "time": line["time"].replace("T", " ")}),
            "EXPORT_LINE_INVALID",
        ),
        (RETAINED, "link", without_event(moved_digit), "EXPORT_LINE_INVALID"),
        (
            RETAINED,
            "link",
            lambda line: {**line, "event": None} if line == EVENTS[0] else None,
            "EVENT_MISSING",
        ),
        (
            RETAINED,
            "checkpoint",
            lambda line: {**line, "inclusion": {**line["inclusion"], "leafIndex": -1}},
            "INCLUSION_PROOF_INVALID",
        ),
    ],
)
def test_each_value_has_one_spelling(
    case: Any, kind: str, change: Callable[[Any], Any], code: str | None
) -> None:
    assert code_of(case, case["lines"]) is None
    assert code_of(case, changed(case, kind, change)) == code


def test_the_leaf_of_a_tree_with_one_checkpoint_is_the_first() -> None:
    instance = Instance()
    case = {"jwks": instance.jwks, "lines": list(instance.export(1))}
    for index, code in ((-1, "INCLUSION_PROOF_INVALID"), (1, "INCLUSION_PROOF_INVALID"), (0, None)):
        lines = [line.replace('"leafIndex":0', f'"leafIndex":{index}') for line in case["lines"]]
        assert code_of(case, lines) == code


@pytest.mark.parametrize(
    "days, chains, is_that_day",
    [
        (Days("2027-01-14", "2027-01-15", "2027-01-15"), 1, True),
        (Days(), 0, True),
        (Days(None, "2027-01-15", "2027-01-16"), 1, False),
        (Days(None, "2027-01-14", "2027-01-15"), 1, False),
        (Days("2027-01-15", "2027-01-15", "2027-01-15"), 1, False),
        (Days(None, "2027-01-15", "2027-01-15"), 2, False),
    ],
)
def test_the_lines_of_a_day(days: Days, chains: int, is_that_day: bool) -> None:
    statement = {"day": "2027-01-15", "organizationId": "one", "at": "2027-01-16T00:00:00.000Z"}
    if is_that_day:
        days.check(statement, chains)
        return
    with pytest.raises(AuditExportError, match="of the whole day 2027-01-15 of one organization"):
        days.check(statement, chains)


def test_a_proof_of_the_log_directly_follows_its_checkpoint() -> None:
    case = export("with events that are newer than the checkpoint of the log")
    place = next(at for at, line in enumerate(case["lines"]) if '"logProof"' in line)
    lines = list(case["lines"])
    lines.insert(place + 1, lines.pop(place))
    assert json.loads(lines[place])["kind"] == "link"
    assert code_of(case, lines) == "LOG_PROOF_INVALID"
