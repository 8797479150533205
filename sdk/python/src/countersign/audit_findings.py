"""The findings of a verification: each code with its sentence."""

from typing import Any

from countersign.errors import AuditExportError

SENTENCES = {
    "LINK_MISSING": "link {expected} is missing",
    "LINK_HASH_MISMATCH": "the hash of the link does not follow from the link before it",
    "LINK_DAY_MISMATCH": "the link is stored under another day than its checkpoint",
    "LINKS_WITHOUT_CHECKPOINT": "there are links that no checkpoint covers",
    "EVENT_MISSING": "the event is missing, and retention did not drop its day",
    "EVENT_CHANGED": "the hash of the event is not the hash in its link",
    "EVENT_TEXT_OF_ANOTHER": (
        "the text of the event names another organization, event or time than its link"
    ),
    "EVENT_TEXT_INVALID": "the text of the event is not a JSON object",
    "CHECKPOINT_NOT_FOLLOWING": (
        "checkpoint {number} is missing or does not follow from the one before it"
    ),
    "CHECKPOINT_HEAD_MISMATCH": (
        "the size or head hash of checkpoint {number} is not that of its last link"
    ),
    "CHECKPOINT_NOT_SIGNED": "checkpoint {number} has no valid signature by a trusted key",
    "INCLUSION_PROOF_INVALID": "checkpoint {number} is not in the tree that its tree head signs",
    "TREE_HEAD_MISSING": "tree head {number} is missing",
    "TREE_HEAD_NOT_SIGNED": "tree head {number} has no valid signature by a trusted key",
    "ANCHOR_NOT_SIGNED": "anchor {number} has no valid signature by a trusted key",
    "EXTERNAL_CHECKPOINT_MISSING": "the external checkpoint is not in the log",
    "LOG_PROOF_INVALID": "nothing proves that the instance log has the checkpoint: {reason}",
    "LOG_CHECKPOINT_NOT_SIGNED": (
        "the checkpoint of the instance log is not signed by its keys: {reason}"
    ),
    "LOG_QUORUM_MISSING": (
        "witnesses that must have cosigned the checkpoint of the instance log: "
        "{lacking} more of {absent}"
    ),
    "LOG_FORKED": (
        "the instance log has signed two histories: its checkpoint of size {size} "
        "is not consistent with another one"
    ),
    "LOG_SHORTENED": "the instance log has {size} entries, and it had {known} before",
    "KEY_NOT_TRUSTED": "signing key {number} is signed by no trusted key",
    "KEY_NOT_NAMED": "signing key {number} is not the one that its successor names",
    "KEY_ROW_DIFFERS": "the row of signing key {number} differs from its signed statement",
    "FIRST_KEY_MISSING": "the first signing key is missing",
    "EXPORT_VERSION_UNKNOWN": "the export has the unknown version {version}",
    "EXPORT_LINE_INVALID": "a line of the export is not valid",
    "EXPORT_HEADER_INVALID": 'the export does not begin with one line of the kind "export"',
    "EXPORT_FIELD_REPEATED": (
        "a line of the export has the field {field} twice: programs may read different values"
    ),
    "EXPORT_FIELD_UNKNOWN": (
        "a line of the export has the field {field}, which an export does not have: "
        "nothing proves its value"
    ),
    "EXPORT_TRUNCATED": "the export is not complete: its last line is missing",
    "EXPORT_CONTINUES": "the export has lines after its last line",
    "EXPORT_NOT_SIGNED": "the last line of the export has no valid signature by a trusted key",
    "EXPORT_DAY_MISMATCH": (
        "the signed statement is of the whole day {day} of one organization, "
        "and the export has another content"
    ),
    "EXPORT_DAY_MISSING": (
        "the export begins within a chain, "
        "and its signed statement does not say that it has one day only"
    ),
    "EXPORT_WITHOUT_STATEMENT": (
        "the end of the export is not signed, so whole chains may be missing; "
        "the rest is intact, {events} events in {chains}"
    ),
    "EXPORT_CHAIN_COUNT": (
        "the export has another number of chains ({found}) than its signed statement ({signed})"
    ),
    "EXPORT_EVENT_COUNT": (
        "the export has another number of events ({found}) than its signed statement ({signed})"
    ),
    "EXPORT_CHAINS_DIFFER": "the chains of the export are not those of its signed statement",
    "EXPORT_NUMBERS_DIFFER": "the numbers in the last line differ from its signed statement",
    "EXPORT_UNSIGNED_COUNT": "the export has {found} events, and its last line says {stated}",
}


# Of LOG_QUORUM_MISSING, without a checkpoint of the log.
NO_LOG_PROOF = "there is no proof that the instance log has it, so no witness has seen it"
# A name in a file can be as long as the file.
MAX_NAME_LENGTH = 100


class Finding(AuditExportError):
    """`Finding("LINK_MISSING", expected=5, organization_id=…)`."""

    def __init__(
        self,
        code: str,
        *,
        organization_id: str | None = None,
        sequence: int | None = None,
        event_id: str | None = None,
        **parameters: Any,
    ) -> None:
        is_unproven = code == "LOG_QUORUM_MISSING" and "lacking" not in parameters
        sentence = NO_LOG_PROOF if is_unproven else SENTENCES[code]
        for name in ("field", "day"):
            if len(str(parameters.get(name, ""))) > MAX_NAME_LENGTH:
                parameters[name] = f"{str(parameters[name])[:MAX_NAME_LENGTH]}…"
        super().__init__(
            code,
            sentence.format_map(parameters),
            organization_id=organization_id,
            sequence=sequence,
            event_id=event_id,
        )
