"""Follow-ups: jobs that are stored in the step that records the success of the one that asked for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from noria.backends.contract import Verdict
from noria.backends.ends import follow_up_flaw
from noria.backends.sql import heirs
from noria.backends.sql.admission import foresee
from noria.backends.sql.drafts import Drafts
from noria.backends.sql.push import store
from noria.backends.sql.rows import encode
from noria.backends.sql.settings import Settings
from noria.backends.sql.transaction import Transaction
from noria.model.settlement import Settlement

Asking = tuple[int, Settlement]
"""An end with follow-ups, and its place in the call."""


class FollowUps:
    """The follow-ups of all ends of one call.

    Attributes:
        flaws: by the place of an end, why one of its follow-ups cannot be stored.
    """

    def __init__(self, asking: Sequence[Asking], now: int, settings: Settings) -> None:
        self._owners = [(index, end.id.hex()) for index, end in asking for _ in end.follow_ups]
        self._drafts = Drafts([job for _, end in asking for job in end.follow_ups], now, settings)
        self._drafts.as_json()
        self.flaws: dict[int, str] = {}
        for (index, _), job, receipt in zip(
            self._owners, self._drafts.jobs, self._drafts.receipts, strict=True
        ):
            if receipt.status == "rejected":
                self.flaws.setdefault(index, follow_up_flaw(job, receipt))

    def store(self, work: Transaction, verdicts: Sequence[Verdict]) -> None:
        """Store those of the ends that were recorded now."""
        drafts = self._drafts
        for place, (index, _) in enumerate(self._owners):
            if verdicts[index] is not Verdict.OK or index in self.flaws:
                drafts.drop(place, drafts.receipts[place])
        if not drafts.stored():
            return
        # Its parent has ended, so that none can be rejected for whom it waits for.
        if drafts.waiting:
            heirs.admit(work, drafts, strict=False)
        if work.looks_first:
            foresee(work, drafts, whole=False)
        store(work, drafts)
        links: defaultdict[str, list[str]] = defaultdict(list)
        for (_, owner), receipt in zip(self._owners, drafts.receipts, strict=True):
            if receipt.status in ("existing", "updated", "merged"):
                links[owner].append(receipt.id.hex())
        if links:
            work.run("link", encode(list(links.items())))
