"""Compares two checkpoints of a log: the smaller tree must be the beginning of the larger one.

The proof comes from the tiles of the log (C2SP tlog-tiles). They are not trusted: a proof from
wrong tiles does not lead to the roots.
"""

from collections.abc import Callable

from countersign.log_keys import TransparencyError
from countersign.merkle import node_hash

TILE_HEIGHT, TILE_WIDTH = 8, 256
HASH_BYTES = 32
MAX_TILE_BYTES = TILE_WIDTH * HASH_BYTES

# The content at a path below the address of the log.
ReadTile = Callable[[str], bytes]


class TileError(TransparencyError):
    """What the log serves as a tile is none."""


def tile_path(level: int, index: int, width: int) -> str:
    """`tile/0/x001/x234/067`, `tile/0/000.p/17`: the index is in groups of three digits."""
    groups = f"{index:,}".split(",")
    *before, last = (group.zfill(3) for group in groups)
    partial = "" if width == TILE_WIDTH else f".p/{width}"
    return "/".join(["tile", str(level), *(f"x{group}" for group in before), last + partial])


def prove_consistency(read_tile: ReadTile, old_size: int, new_size: int) -> list[bytes]:
    """SUBPROOF of RFC 6962, section 2.1.2, for the tree of `new_size`."""
    tiles: dict[tuple[int, int], list[bytes]] = {}

    def tile(level: int, index: int) -> list[bytes]:
        if (level, index) not in tiles:
            width = min(TILE_WIDTH, (new_size >> TILE_HEIGHT * level) - index * TILE_WIDTH)
            content = read_tile(tile_path(level, index, width))
            if len(content) != width * HASH_BYTES:
                problem = f"a tile of {width} hashes has {width * HASH_BYTES} bytes"
                raise TileError(problem)
            tiles[level, index] = [
                content[at : at + HASH_BYTES] for at in range(0, len(content), HASH_BYTES)
            ]
        return tiles[level, index]

    def perfect_tree(height: int, start: int) -> bytes:
        level, within = divmod(height, TILE_HEIGHT)
        index, first = divmod(start >> TILE_HEIGHT * level, TILE_WIDTH)
        hashes = tile(level, index)[first : first + 2**within]
        while len(hashes) > 1:
            pairs = zip(hashes[::2], hashes[1::2], strict=True)
            hashes = [node_hash(left, right) for left, right in pairs]
        return hashes[0]

    def tree(start: int, end: int) -> bytes:
        height = (end - start).bit_length() - 1
        left = perfect_tree(height, start)
        middle = start + 2**height
        return left if middle == end else node_hash(left, tree(middle, end))

    def proof(start: int, end: int, is_known: bool) -> list[bytes]:
        """`is_known`: the verifier has the hash of this part as the root of the earlier tree."""
        if old_size == end:
            return [] if is_known else [tree(start, end)]
        middle = start + 2 ** ((end - start - 1).bit_length() - 1)
        if old_size <= middle:
            return [*proof(start, middle, is_known), tree(middle, end)]
        return [*proof(middle, end, False), tree(start, middle)]

    return [] if old_size == 0 else proof(0, new_size, True)


def verify_consistency(
    old_size: int, old_root: bytes, new_size: int, new_root: bytes, proof: list[bytes]
) -> bool:
    """RFC 9162, section 2.1.4.2. Every tree is consistent with the empty one."""
    if old_size == new_size:
        return not proof and old_root == new_root
    if not 0 < old_size < new_size:
        return old_size == 0 and not proof
    # A tree that is perfect begins the proof itself.
    is_perfect = old_size & (old_size - 1) == 0
    hashes = [old_root, *proof] if is_perfect else proof
    if not hashes:
        return False
    node, last = old_size - 1, new_size - 1
    while node % 2 == 1:
        node, last = node >> 1, last >> 1
    old = new = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return False
        if node % 2 == 1 or node == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            # Levels on which the node had no sibling.
            while node % 2 == 0 and node > 0:
                node, last = node >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        node, last = node >> 1, last >> 1
    return last == 0 and (old, new) == (old_root, new_root)
