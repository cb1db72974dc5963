"""What happens to an order after it is paid; knows no application."""

from __future__ import annotations

from noria import Router

router = Router(prefix="orders.", queue="orders")


@router.task
def pack(order: str) -> str:
    """Pack it; a `def` runs in a thread."""
    return f"packed {order}"


@router.task
async def remind(order: str) -> str:
    """Ask for a review."""
    return f"how was {order}?"
