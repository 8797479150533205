"""Lists of the API: most have pages (`page`), deliveries have an `offset`, some come whole."""

from collections.abc import Mapping
from typing import Any

from countersign.answer import invalid_answer

ENTRIES_PER_PAGE = 100


class PageReader:
    """Gives the parameters of the next page, until a page is the last.

    It begins at the `page` or `offset` of the caller, or else at the first entry.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        given = {name: value for name, value in params.items() if value is not None}
        self.params = {"limit": ENTRIES_PER_PAGE, **given}
        self._page = int(given.get("page", 1))
        # The entries so far, and those before the first page.
        self._read = int(given.get("offset", (self._page - 1) * int(self.params["limit"])))
        self.is_last = False

    def entries(self, body: Any) -> list[Any]:
        if isinstance(body, list):
            self.is_last = True
            return body
        fields = body if isinstance(body, dict) else {}
        by_offset = "deliveries" in fields
        entries = fields.get("deliveries" if by_offset else "data")
        if not isinstance(entries, list):
            raise invalid_answer("the answer is not a list")
        self._page += 1
        self._read += len(entries)
        place = {"offset": self._read} if by_offset else {"page": self._page}
        self.params = {**self.params, **place}
        total = fields.get("total")
        self.is_last = not entries or not isinstance(total, int) or self._read >= total
        return entries
