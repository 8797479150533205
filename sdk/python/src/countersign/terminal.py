"""Text of another party on a terminal: characters that control it are printed as escapes."""

import unicodedata

MAX_QUOTED = 500
# Controls, bidirectional and invisible formatting, line and paragraph separators, and halves of
# surrogate pairs.
UNPRINTABLE = ("Cc", "Cf", "Zl", "Zp", "Cs")


def quoted(text: object) -> str:
    """Within one of our lines: it cannot start a new line or fill the screen."""
    whole = str(text)
    cut = whole if len(whole) <= MAX_QUOTED else f"{whole[:MAX_QUOTED]}…"
    return "".join(map(_escaped, cut))


def _escaped(character: str) -> str:
    if unicodedata.category(character) not in UNPRINTABLE:
        return character
    return f"\\u{{{ord(character):04x}}}"
