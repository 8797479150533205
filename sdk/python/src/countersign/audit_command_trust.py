"""What `python -m countersign audit verify` trusts: keys as texts, or files with them."""

import json
import re
from argparse import Namespace
from typing import Any

import httpx

from countersign.answer import exchange
from countersign.audit_findings import Finding
from countersign.log_keys import TransparencyError
from countersign.log_note import MAX_NOTE_BYTES, LogCheckpoint, open_checkpoint
from countersign.log_tiles import (
    MAX_TILE_BYTES,
    TileError,
    prove_consistency,
    verify_consistency,
)
from countersign.log_trust import CheckpointPolicy, LogTrust, read_log_trust
from countersign.terminal import quoted

KEY = re.compile(r"[^\s+]+\+[0-9a-f]{8}\+\S+")
EXAMPLE = "e.g. https://id.example.com/log"


class CommandError(Exception):
    """The command cannot begin or go on, for a reason that its user can fix."""


def read_text(file: str, problem: str) -> str:
    try:
        with open(file, encoding="utf-8", newline="") as opened:
            return opened.read()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{problem}: {error}") from error


def read_jwks(file: str) -> dict[str, Any]:
    """The public keys of the instance, as `/.well-known/jwks.json` answered them."""
    text = read_text(file, "cannot read the keys of --keys")
    try:
        jwks = json.loads(text)
        if jwks["keys"] and all(isinstance(key["kid"], str) for key in jwks["keys"]):
            return dict(jwks)
    except (ValueError, TypeError, KeyError, RecursionError):
        pass  # not JSON, or without keys
    raise CommandError(
        f"{file} is not a key set: it must hold the JSON that /.well-known/jwks.json of the "
        "instance answered, with a kid in each key"
    )


def read_trust(options: Namespace) -> CheckpointPolicy | None:
    """None without options of the log."""
    if options.log_key is None:
        for name in ("witness", "quorum", "log_checkpoint", "log_url"):
            if getattr(options, name) is not None:
                raise CommandError(
                    f"--{name.replace('_', '-')} needs --log-key: the verifier key of the log, as "
                    "GET /log/key of the instance answered it"
                )
        return None
    named, quorum = options.witness or [], options.quorum
    if quorum is not None and (not named or re.fullmatch("[1-9][0-9]?", quorum) is None):
        raise CommandError(
            "--quorum is a number from 1 to the number of witnesses, which --witness names"
        )
    read = [_witnesses(each) for each in named]
    # Keys of two sources have no common quorum: then all witnesses are needed.
    of_file = read[0][1] if len(read) == 1 else None
    witnesses = [key for keys, _ in read for key in keys]
    key = _text_or_file(options.log_key, "--log-key")
    try:
        trust = LogTrust(key, witnesses, of_file if quorum is None else int(quorum))
        return read_log_trust(trust)
    except ValueError as error:
        raise CommandError(f"--log-key, --witness and --quorum: {quoted(error)}") from error


def _text_or_file(value: str, option: str) -> str:
    if KEY.fullmatch(value):
        return value
    return read_text(value, f"{option} is neither a verifier key nor a file with one").strip()


def _witnesses(value: str) -> tuple[list[str], int | None]:
    """A key, a file with a key in each line, or the file AUDIT_WITNESSES of an instance."""
    keys: list[str] = []
    quorum: int | None = None
    for line in _text_or_file(value, "--witness").splitlines():
        fields = re.sub(r"(^|(?<=\s))#.*", "", line).split()
        if fields[:1] == ["quorum"]:
            if len(fields) != 2 or re.fullmatch("[1-9][0-9]?", fields[1]) is None or quorum:
                problem = "the quorum is one number from 1: `quorum N`"
                raise CommandError(f"--witness {quoted(value)}: {problem}")
            quorum = int(fields[1])
        elif len(fields) > 2:
            problem = "a line has a verifier key and a URL, or is `quorum N`"
            raise CommandError(f"--witness {quoted(value)}: {problem}")
        else:
            keys += fields[:1]
    return keys, quorum


def read_kept(file: str | None, policy: CheckpointPolicy | None) -> LogCheckpoint | None:
    """A checkpoint of the log that the auditor has kept."""
    if file is None or policy is None:
        return None
    note = read_text(file, "cannot read the checkpoint of the log")
    try:
        return open_checkpoint(note, policy.log_key).checkpoint
    except TransparencyError as error:
        raise CommandError(
            f"{file} is not a checkpoint of the log: {quoted(error)}. It must hold what "
            "GET /log/checkpoint answered"
        ) from error


def compare_log(
    note: str, policy: CheckpointPolicy, kept: LogCheckpoint | None, url: str | None
) -> None:
    """Compares the log of an export with a kept checkpoint, and with the log that is served."""
    own = open_checkpoint(note, policy.log_key).checkpoint
    if url is not None:
        _compare_served([own] if kept is None else [own, kept], policy, url)
    elif kept is not None and kept.size != own.size:
        raise CommandError(
            f"the log had {kept.size} entries at the checkpoint of --log-checkpoint, and "
            f"{own.size} at that of the export: to compare them, add --log-url with the address "
            f"of the log, {EXAMPLE}"
        )
    elif kept is not None and kept.root != own.root:
        raise Finding("LOG_FORKED", size=own.size)


def _compare_served(known: list[LogCheckpoint], policy: CheckpointPolicy, url: str) -> None:
    try:
        if httpx.URL(url).scheme not in ("http", "https") or not httpx.URL(url).host:
            raise httpx.InvalidURL("not an address of HTTP")
    except httpx.InvalidURL as error:
        raise CommandError(f"--log-url must be the address of the log, {EXAMPLE}") from error

    with httpx.Client(timeout=30) as http:

        def read(path: str, limit: int = MAX_TILE_BYTES) -> bytes:
            address = f"{url.rstrip('/')}/{path}"
            try:
                answer = exchange(http, http.build_request("GET", address), limit)
            except httpx.TransportError as error:
                raise CommandError(f"cannot reach {url}: {quoted(error)}") from error
            if answer.status != 200:
                raise CommandError(f"{address} answered {answer.status}, and it is not the log")
            return answer.content

        try:
            note = read("checkpoint", MAX_NOTE_BYTES).decode("utf-8", "surrogateescape")
            served = open_checkpoint(note, policy.log_key).checkpoint
            for each in known:
                if served.size < each.size:
                    raise Finding("LOG_SHORTENED", size=served.size, known=each.size)
                proof = prove_consistency(read, each.size, served.size)
                roots = bytes.fromhex(each.root), bytes.fromhex(served.root)
                if not verify_consistency(each.size, roots[0], served.size, roots[1], proof):
                    raise Finding("LOG_FORKED", size=each.size)
        except TileError as error:
            raise CommandError(f"{url} serves no tiles: {error}") from error
        except TransparencyError as error:
            raise Finding("LOG_CHECKPOINT_NOT_SIGNED", reason=f"at {url}, {error}") from error
