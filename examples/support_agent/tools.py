# tools.py
"""The tools of the support agent; a real shop would ask its database."""

from agentic.core.agents import ToolError, tool

ORDERS = {7: {"product": "lamp", "paid": 39.0, "arrived": "broken"}}


def find_order(number: int) -> dict:
    """Find an order by its number."""
    if number not in ORDERS:
        raise ToolError(f"no order has the number {number}")
    return {"number": number, **ORDERS[number]}


@tool(approval="always")
def refund(number: int, amount: float) -> str:
    """Pay money back for an order."""
    return f"paid {amount:.2f} back for order {number}"
