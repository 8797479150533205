"""`python -m countersign audit verify FILE`: it needs nothing but the file and public keys."""

import argparse
import sys
from collections.abc import Sequence

from cryptography.exceptions import UnsupportedAlgorithm

from countersign.audit_command_trust import (
    CommandError,
    compare_log,
    read_jwks,
    read_kept,
    read_text,
    read_trust,
)
from countersign.audit_file import audit_export_lines
from countersign.audit_log_proofs import Witnessed
from countersign.audit_verification import AuditExport, ExportVerification, count_chains
from countersign.errors import AuditExportError, AuditFileError, NetworkError
from countersign.terminal import quoted

INTACT, NOT_INTACT, UNREADABLE = 0, 1, 2
EVENTS_PER_PROGRESS = 50_000


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 intact, 1 not intact, 2 wrong options, or a file that cannot be read."""
    options = _parser().parse_args(arguments)
    # A terminal may lack characters of a name.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        export = _verify(options)
    except AuditExportError as finding:
        print(_described(finding))
        return NOT_INTACT
    except (CommandError, AuditFileError, NetworkError) as error:
        print(f"countersign: {error}", file=sys.stderr)
        return UNREADABLE
    except UnsupportedAlgorithm as error:
        print(f"countersign: cannot check EdDSA signatures: {quoted(error)}", file=sys.stderr)
        return UNREADABLE
    _print_export(export)
    return INTACT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m countersign", allow_abbrev=False)
    groups = parser.add_subparsers(required=True, metavar="audit")
    audit = groups.add_parser("audit", help="verify exports of the audit log")
    verify = audit.add_subparsers(required=True, metavar="verify").add_parser(
        "verify",
        allow_abbrev=False,
        help="verify an export",
        description="Verifies the hashes and signatures of an export of the audit log. Exit code "
        "1 when it is not intact, 2 when it cannot be read or an option is wrong.",
    )
    verify.add_argument(
        "file", help="file written by `countersign audit export`, or of the archive (.jsonl.zst)"
    )
    verify.add_argument(
        "--keys",
        required=True,
        metavar="FILE",
        help="JWKS with the public keys of the instance, from /.well-known/jwks.json",
    )
    verify.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="checkpoint saved earlier from GET /api/v1/audit/checkpoints; the log must still "
        "contain it",
    )
    verify.add_argument(
        "--log-key",
        metavar="KEY",
        help="verifier key of the instance log, from GET /log/key, or a file with it; the log "
        "must have what is verified",
    )
    verify.add_argument(
        "--witness",
        action="append",
        metavar="KEY",
        help="verifier key of a witness that must have cosigned the log, or a file with such keys "
        "or in the form of AUDIT_WITNESSES; repeatable",
    )
    verify.add_argument(
        "--quorum",
        metavar="NUMBER",
        help="how many of the witnesses are enough (default: all)",
    )
    verify.add_argument(
        "--log-checkpoint",
        metavar="FILE",
        help="checkpoint saved earlier from GET /log/checkpoint; the log must contain it",
    )
    verify.add_argument(
        "--log-url",
        metavar="URL",
        help="address of the log, e.g. https://id.example.com/log; what it serves must contain "
        "the checkpoints",
    )
    return parser


def _verify(options: argparse.Namespace) -> AuditExport:
    checkpoint = options.checkpoint and read_text(options.checkpoint, "cannot read the checkpoint")
    policy = read_trust(options)
    jwks = read_jwks(options.keys)
    kept = read_kept(options.log_checkpoint, policy)
    try:
        verification = ExportVerification(jwks, checkpoint, policy)
    except ValueError as error:
        raise CommandError(
            f"{options.checkpoint} is not a checkpoint: it must hold one entry of GET "
            "/api/v1/audit/checkpoints, or the signed text of an earlier version"
        ) from error
    _feed(options.file, verification)
    export = verification.result()
    if policy and verification.log_note is not None:
        compare_log(verification.log_note, policy, kept, options.log_url)
    return export


def _feed(file: str, verification: ExportVerification) -> None:
    printed = 0
    try:
        for line in audit_export_lines(file):
            verification.feed(line)
            if verification.events - printed >= EVENTS_PER_PROGRESS:
                printed = verification.events
                print(f"{printed} events checked", file=sys.stderr)
    except IsADirectoryError as error:
        problem = f"{file} is a folder; name the file that `countersign audit export` wrote"
        raise CommandError(problem) from error
    except OSError as error:
        raise CommandError(f"cannot read the export: {error}") from error


def _print_export(export: AuditExport) -> None:
    events, witnessed = export.events, export.witnessed
    print(f"The export is {_intact(witnessed)}: {events} events in {count_chains(export.chains)}.")
    print(f"  begun at      {quoted(export.at)}")
    if export.organization_id is not None:
        print(f"  only of       {quoted(export.organization_id)}")
    if export.day is not None:
        print(f"  only day      {quoted(export.day)}")
    if witnessed and witnessed.events < events:
        newer = events - witnessed.events
        print(f"  not witnessed {newer} events, newer than the checkpoint of the log")


def _intact(witnessed: Witnessed | None) -> str:
    if witnessed is None:
        return "intact"
    names = ", ".join(map(quoted, witnessed.witnesses))
    return f"intact and witnessed at {witnessed.time} by {names}"


def _described(finding: AuditExportError) -> str:
    # Valid as far as it goes, but nothing proves that it is complete.
    is_not_proven = finding.code == "EXPORT_WITHOUT_STATEMENT"
    details = {
        "organization": finding.organization_id,
        "sequence": finding.sequence,
        "event": finding.event_id,
    }
    return "\n".join(
        [
            f"{'NOT PROVEN' if is_not_proven else 'NOT INTACT'}: {quoted(finding.problem)}",
            f"  code          {finding.code}",
            *(f"  {name:<13} {quoted(each)}" for name, each in details.items() if each is not None),
        ]
    )
