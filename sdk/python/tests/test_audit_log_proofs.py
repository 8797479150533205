"""Logs, notes and witnesses: values of Go libraries, and changes of exports that must be found."""

import base64
import copy
import dataclasses
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audit_log import COSIGNED_AT, LOG, WITNESSES, Instance, NoteKey, naive_root, note_of, tiles_of

from countersign import AuditExportError, LogTrust, verify_audit_export
from countersign.log_keys import COSIGNATURE, NOTE, TransparencyError, parse_verifier_key
from countersign.log_note import open_checkpoint, parse_note
from countersign.log_tiles import prove_consistency, tile_path, verify_consistency
from countersign.log_trust import judge, read_log_trust
from countersign.merkle import leaf_hash

FOLDER = Path(__file__).parents[2]
EXPORTS = json.loads((FOLDER / "vectors.json").read_text())["auditExports"]
GO = json.loads((FOLDER / "typescript/test/transparency/vectors.json").read_text())
TREES, SIZES = GO["trees"], [tree["size"] for tree in GO["trees"]]
IS_THOROUGH = os.environ.get("TEST_REPETITIONS") == "many"


def export(name: str) -> dict[str, Any]:
    return next(each for each in EXPORTS if each["name"] == name)


@pytest.mark.parametrize("tree", TREES, ids=SIZES)
def test_go_a_cosigned_checkpoint(tree: dict[str, Any]) -> None:
    policy = read_log_trust(LogTrust(GO["logKey"], GO["witnesses"]))
    judgement = judge(tree["checkpoint"], policy)
    assert (judgement.checkpoint.size, judgement.checkpoint.root) == (tree["size"], tree["root"])
    assert judgement.witnessed_at is not None and judgement.lacking == 0
    assert [each.witness for each in judgement.cosignatures] == list(policy.witnesses)


@pytest.mark.parametrize("tree", TREES, ids=SIZES)
def test_go_the_proofs_from_the_tiles_of_a_tree(tree: dict[str, Any]) -> None:
    size, root = tree["size"], bytes.fromhex(tree["root"])
    leaves = [bytes.fromhex(leaf_hash(f"entry {at} of the log")) for at in range(size)]
    tiles = tiles_of(leaves)
    for path, content in (tree.get("tiles") or {}).items():
        assert path.startswith("tile/entries") or tiles[path] == base64.b64decode(content)
    for each in tree["consistency"]:
        old_size, old_root = each["oldSize"], bytes.fromhex(each["oldRoot"])
        proof = prove_consistency(tiles.__getitem__, old_size, size)
        assert [node.hex() for node in proof] == each["proof"]
        assert verify_consistency(old_size, old_root, size, root, proof)
        assert not verify_consistency(old_size, old_root, size, root, [*proof, root])
        assert old_size == 0 or not verify_consistency(old_size, root[::-1], size, root, proof)
        for at in range(len(proof)):
            shorter, other = proof[:at] + proof[at + 1 :], list(proof)
            other[at] = root[::-1]
            assert not verify_consistency(old_size, old_root, size, root, shorter)
            assert not verify_consistency(old_size, old_root, size, root, other)


def test_each_tree_is_consistent_with_each_later_one() -> None:
    leaves = [bytes([at]) * 32 for at in range(20)]
    roots = [naive_root(leaves[:size]) for size in range(21)]
    for new in range(1, 21):
        tiles = tiles_of(leaves[:new])
        for old in range(new + 1):
            proof = prove_consistency(tiles.__getitem__, old, new)
            assert verify_consistency(old, roots[old], new, roots[new], proof), (old, new)
            assert old in (0, new) or not verify_consistency(old, roots[old], new, leaves[0], proof)


def test_go_the_paths_of_tiles() -> None:
    hashes = [each for each in GO["paths"] if each["level"] >= 0]
    assert len(hashes) > 10
    for each in hashes:
        assert tile_path(each["level"], each["index"], each["width"]) == each["path"]


LEAVES = [bytes([at]) * 32 for at in range(5)]
BOTH = tuple(each.line for each in WITNESSES)
SIGNED = note_of(LEAVES, *BOTH)
LINE = LOG.line("x")
ONE = WITNESSES[0].text
LOG_KEY = parse_verifier_key(LOG.text, NOTE)


@pytest.mark.parametrize(
    "note, problem",
    [
        ("", "no blank line before the signatures"),
        ("Text\n\n", "no signature lines that end with a newline"),
        (SIGNED[:-1], "no signature lines that end with a newline"),
        (f"{SIGNED}more\n", "a line that is not a signature line"),
        (f"{SIGNED}\n", "no signature lines that end with a newline"),
        (SIGNED.replace("\n", "\r\n"), "a control character"),
        (SIGNED.replace("id", "i\x00d"), "a control character"),
        (SIGNED.replace("id", "i\ud800d"), "not UTF-8"),
        (SIGNED.replace("\u2014 ", "- "), "a line that is not a signature line"),
        (SIGNED.replace("\u2014 id", "\u2014 i+d"), "a line that is not a signature line"),
        (SIGNED.replace("\u2014 id", "\u2014 i\u00a0d"), "a line that is not a signature line"),
        (SIGNED.replace("=\n\u2014", "\n\u2014"), "a line that is not a signature line"),
        ("Text\n\n\u2014 x AAAAAAB=\n", "a line that is not a signature line"),
        ("Text\n\n\u2014 x AAAAAA==\n", "a line that is not a signature line"),
        (f"Text\n\n{LINE * 101}", "more than 100 signatures"),
        (f"{'é' * 131_072}\n\n{LINE}", "more than 262144 bytes"),
        (f"{LOG.name}\n5\n\n{LINE}", "a checkpoint has three lines or more, none of them empty"),
        (SIGNED.replace("\n5\n", "\n05\n"), "the second line is not a size up to 2^53 - 1"),
        (SIGNED.replace("\n5\n", "\n٥\n"), "the second line is not a size up to 2^53 - 1"),
        (SIGNED.replace("\n5\n", f"\n{2**53}\n"), "the second line is not a size up to 2^53 - 1"),
        (SIGNED.replace("=\n\n", "\n\n"), "the third line is not the base64 of a hash"),
        (SIGNED.replace("id", "other", 1), f"the checkpoint is not of the log {LOG.name}"),
        (SIGNED.replace(LOG.line(SIGNED.split("\n\n")[0] + "\n"), ""), "no known key has signed"),
        (SIGNED.replace("\n5\n", "\n6\n"), f"the signature of {LOG.name} is not its own"),
    ],
)
def test_a_note_that_is_refused(note: str, problem: str) -> None:
    assert open_checkpoint(SIGNED, LOG_KEY).checkpoint.root == naive_root(LEAVES).hex()
    with pytest.raises(TransparencyError) as refusal:
        open_checkpoint(note, LOG_KEY)
    assert str(refusal.value) == problem


def test_two_known_keys_with_one_name_and_id_verify_nothing() -> None:
    forged = dataclasses.replace(LOG_KEY, public_key=bytes(32))
    for keys in ((LOG_KEY, [forged]), (forged, [LOG_KEY])):
        with pytest.raises(TransparencyError, match="is not its own"):
            open_checkpoint(SIGNED, *keys)


def test_a_note_with_100_signatures_is_read() -> None:
    assert len(parse_note(f"Text\n\n{LINE * 100}")[1]) == 100


NAME, KEY_ID, ENCODED = LOG.text.split("+", 2)


@pytest.mark.parametrize(
    "text",
    [
        *("", NAME, f"{NAME}+{KEY_ID}", f"{NAME}+{KEY_ID}+", f"+{KEY_ID}+{ENCODED}"),
        *(f"{NAME}+{KEY_ID.upper()}x+{ENCODED}", f"{NAME} +{KEY_ID}+{ENCODED}", f"{LOG.text}="),
        *(f"x{LOG.text}", f"{NAME}+{KEY_ID}+{ENCODED[:-4]}", WITNESSES[0].text),
        NoteKey("n" * 256, 1, 1).text,
    ],
)
def test_a_verifier_key_that_is_refused(text: str) -> None:
    with pytest.raises(TransparencyError):
        parse_verifier_key(text, NOTE)


@pytest.mark.parametrize(
    "trust, problem",
    [
        (LogTrust(ONE), "log: the key has type 0x04, not 0x01"),
        (LogTrust(LOG.text, [LOG.text]), "log: the key has type 0x01, not 0x04"),
        (LogTrust(LOG.text, [], 1), "a quorum needs witnesses"),
        (LogTrust(LOG.text, [ONE], 2), "the quorum is between 1 and the number"),
        (LogTrust(LOG.text, [ONE], 0), "the quorum is between 1 and the number"),
        (LogTrust(LOG.text, [ONE] * 2), "has the name or the public key of another"),
        (LogTrust(LOG.text, [ONE, NoteKey(WITNESSES[0].name, 4, 9).text]), "has the name or the"),
        (LogTrust(LOG.text, [NoteKey("x", 4, 1).text]), "has the name or the public key of"),
        (LogTrust(LOG.text, ONE), "witnesses must be a list of keys"),
    ],
)
def test_one_party_is_not_two(trust: LogTrust, problem: str) -> None:
    case = export("with two witnesses")
    with pytest.raises(ValueError, match=problem):
        verify_audit_export(case["lines"], jwks=case["jwks"], log=trust)


def test_a_witness_counts_once_with_its_earliest_time() -> None:
    first, second = WITNESSES
    times = [(first, 3), (first, 1), (second, 2), (NoteKey("other", 4, 9), 0)]
    signers = [lambda text, each=each, time=time: each.line(text, time) for each, time in times]
    for quorum, witnessed_at in ((1, 1), (2, 2)):
        policy = read_log_trust(LogTrust(LOG.text, [each.text for each in WITNESSES], quorum))
        judgement = judge(note_of(LEAVES, *signers), policy)
        assert [(each.witness.name, each.time) for each in judgement.cosignatures] == [
            (first.name, 1),
            (second.name, 2),
        ]
        assert judgement.witnessed_at == witnessed_at
    none = judge(note_of(LEAVES, first.line), policy)
    assert (none.witnessed_at, none.absent, none.lacking) == (None, (second.name,), 1)


@pytest.mark.parametrize("time", [0, 2**53, 2**64 - 1])
def test_the_time_of_a_cosignature_is_exact(time: int) -> None:
    key = parse_verifier_key(WITNESSES[0].text, COSIGNATURE)
    note = note_of(LEAVES, lambda text: WITNESSES[0].line(text, time))
    with pytest.raises(TransparencyError, match="is not its own"):
        open_checkpoint(note, LOG_KEY, [key])


@pytest.mark.parametrize(
    "time, text",
    [
        (COSIGNED_AT, "2027-01-15T08:00:00.000Z"),
        (253_402_300_800, "+010000-01-01T00:00:00.000Z"),
        (8_640_000_000_000, "+275760-09-13T00:00:00.000Z"),
        (8_640_000_000_001, "+275760-09-13T00:00:01.000Z"),
        (2**53 - 1, "+285428751-11-12T07:36:31.000Z"),
    ],
)
def test_a_witness_can_name_any_time(time: int, text: str) -> None:
    instance, witness = Instance(), WITNESSES[0]
    trust = LogTrust(LOG.text, [witness.text])
    lines = instance.export(
        2, 1, note=lambda leaves: note_of(leaves, lambda body: witness.line(body, time))
    )
    found = verify_audit_export(lines, jwks=instance.jwks, log=trust).witnessed
    assert found is not None
    assert (found.time, found.witnesses, found.events) == (text, (witness.name,), 3)


CHANGED = [
    export("a day, with two witnesses"),
    export("several organizations, with two witnesses"),
    export("after retention has dropped links"),
]


def is_intact(case: dict[str, Any], lines: list[Any]) -> bool:
    log = LogTrust(**case["log"]) if "log" in case else None
    try:
        verify_audit_export(lines, jwks=case["jwks"], log=log)
    except AuditExportError:
        return False
    return True


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of all values, also of lists and objects."""
    if path:
        yield path
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, inner in items:
            yield from paths_in(inner, (*path, name))


def other_values(value: Any) -> list[Any]:
    others: list[Any] = [None, True, False, 0, "", [], {}, [value]]
    if isinstance(value, int):
        others += [value + 1, value - 1, -value, value + 0.5, value + 2**32, str(value)]
    if isinstance(value, str):
        others += [f"{value} ", f" {value}", f"{value}\n", value.upper(), value[:-1], value * 2]
        others += [value.replace("-", "")]
    if isinstance(value, list):
        others += [value[1:], value * 2, value[::-1]]
    return [other for other in others if json.dumps(other) != json.dumps(value)]


@pytest.mark.parametrize("case", CHANGED, ids=lambda case: case["name"])
def test_a_change_of_any_value_is_found(case: dict[str, Any]) -> None:
    """Of some values in each line: another one. In a thorough run: of all, each other one."""
    seed = random.randrange(2**32)
    chosen = random.Random(seed)
    assert is_intact(case, case["lines"])
    for place, text in enumerate(case["lines"]):
        line = json.loads(text)
        # Without a line that only version 2 has, an export is one of version 1, too.
        paths = [path for path in paths_in(line) if path != ("version",)]
        for path in paths if IS_THOROUGH else chosen.sample(paths, min(len(paths), 6)):
            owner: Any = line
            for name in path[:-1]:
                owner = owner[name]
            others = other_values(owner[path[-1]])
            for other in others if IS_THOROUGH else [chosen.choice(others)]:
                changed = copy.deepcopy(line)
                inner = changed
                for name in path[:-1]:
                    inner = inner[name]
                inner[path[-1]] = other
                lines = list(case["lines"])
                lines[place] = json.dumps(changed)
                assert not is_intact(case, lines), (seed, place + 1, path, other)


@pytest.mark.parametrize("case", CHANGED, ids=lambda case: case["name"])
def test_a_change_of_any_byte_is_found(case: dict[str, Any]) -> None:
    seed = random.randrange(2**32)
    chosen = random.Random(seed)
    original = "\n".join(case["lines"]).encode()
    values = [json.loads(line) for line in case["lines"]]
    for _ in range(1_000 if IS_THOROUGH else 150):
        at, byte = chosen.randrange(len(original)), bytes([chosen.randrange(256)])
        how = chosen.choice(["replace", "insert", "delete"])
        changed = (
            original[:at]
            + (b"" if how == "delete" else byte)
            + original[at if how == "insert" else at + 1 :]
        )
        lines = changed.split(b"\n")
        if is_intact(case, lines):
            # Spaces, and the case of hexadecimal digits in an escape, are no part of a value. The
            # version in the first line may be 1.
            read = [json.loads(line) for line in lines if line.strip(b"\r")]
            assert read[1:] == values[1:], (seed, at, how, byte)


@pytest.mark.parametrize("case", CHANGED, ids=lambda case: case["name"])
def test_a_line_that_was_moved_removed_or_repeated_is_found(case: dict[str, Any]) -> None:
    for place, line in enumerate(case["lines"]):
        rest = case["lines"][:place] + case["lines"][place + 1 :]
        assert not is_intact(case, rest), place
        for to in range(len(case["lines"])) if IS_THOROUGH else (0, place, len(rest)):
            moved = [*rest[:to], line, *rest[to:]]
            assert to == place or not is_intact(case, moved) or moved == case["lines"], (place, to)
            assert not is_intact(case, [*case["lines"][:to], line, *case["lines"][to:]])
