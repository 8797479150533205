"""Merkle trees with the hashes of RFC 9162 (section 2.1)."""

import hashlib
import re
from collections.abc import Iterable
from typing import Any

HASH = re.compile(r"[0-9a-f]{64}")


def sha256(text: str) -> str:
    # A lone surrogate has no UTF-8. Its hash is one that no event has.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def leaf_hash(text: str) -> str:
    return sha256(f"\x00{text}")


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_from(leaf: str, leaf_index: Any, tree_size: Any, proof: Iterable[str]) -> str | None:
    """The root that an inclusion proof leads to (RFC 9162, section 2.1.3.2)."""
    if not isinstance(leaf_index, int) or not isinstance(tree_size, int):
        return None
    if not 0 <= leaf_index < tree_size:
        return None
    index, last = leaf_index, tree_size - 1
    root = bytes.fromhex(leaf)
    for node in proof:
        if last == 0 or HASH.fullmatch(node) is None:
            return None
        sibling = bytes.fromhex(node)
        if index % 2 == 1 or index == last:
            root = node_hash(sibling, root)
            # Levels on which the node had no sibling.
            while index % 2 == 0 and index > 0:
                index //= 2
                last //= 2
        else:
            root = node_hash(root, sibling)
        index //= 2
        last //= 2
    return root.hex() if last == 0 else None
