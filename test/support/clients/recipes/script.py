"""The same choices as in script.mjs."""

import json
from typing import Any


def next_step(results: list[str]) -> dict[str, Any]:
    if not results:
        return {"tool": "list_orders", "input": {}}
    last = results[-1]
    first = json.loads(results[0].removeprefix("200 "))[0]
    refund = {"order": first["order"], "amount": first["total"]}
    if len(results) == 1 or last.startswith(("approved: ", "not approved: ")):
        return {"tool": "refund_order", "input": refund}
    if last.startswith("200 "):
        return {"text": f"Refunded {first['total']} for order {first['order']}."}
    if any(result.startswith("not approved") for result in results):
        return {"text": "There was no refund."}
    reason = f"The parcel of order {first['order']} was lost"
    return {"tool": "ask_person", "input": {**refund, "reason": reason}}
