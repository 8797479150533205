"""The lines of an export in a file. A file of the archive is compressed with Zstandard."""

import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from countersign.audit_lines import MAX_LINE_LENGTH
from countersign.errors import AuditFileError

# The first bytes of a Zstandard frame. No line of an export begins with them.
ZSTANDARD = b"\x28\xb5\x2f\xfd"
# With the end of the line. What is longer comes in parts, which are no lines of an export.
MAX_LINE_BYTES = MAX_LINE_LENGTH + 2


def audit_export_lines(file: str | os.PathLike[str]) -> Iterator[bytes]:
    """The lines of an export, for `verify_audit_export`. Memory stays bounded.

    Files of the archive (`.jsonl.zst`) are read as they are. Raises AuditFileError when nothing
    is installed that reads them, or when one is damaged.
    """
    with open(file, "rb") as opened:
        if not opened.peek(len(ZSTANDARD)).startswith(ZSTANDARD):
            yield from _lines_of(opened)
            return
        zstd = _zstandard(file)
        # It refuses a window of more than 128 MB.
        decompressed = zstd.ZstdFile(opened)
        try:
            yield from _lines_of(decompressed)
        except (zstd.ZstdError, EOFError) as error:
            problem = f"its Zstandard compression ends with {error}"
            raise AuditFileError(f"{file} is damaged or not complete: {problem}") from error


def _lines_of(opened: Any) -> Iterator[bytes]:
    while line := opened.readline(MAX_LINE_BYTES):
        yield line


def _zstandard(file: str | os.PathLike[str]) -> Any:
    """The module of Python 3.14, or its backport."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise AuditFileError(
            f"{file} is compressed with Zstandard: use Python 3.14 or newer, or install what reads "
            "it with `pip install backports.zstd`"
        ) from error
