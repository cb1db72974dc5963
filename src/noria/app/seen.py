"""Questions as the application's users see them: with the link by which a person answers."""

from __future__ import annotations

from noria.app.config import public_url
from noria.backends.contract import Backend
from noria.clock import Clock
from noria.ids import system_entropy
from noria.model.asked import QuestionStatus, status_of_question
from noria.model.question import Question
from noria.worker.answers import AnswerLinks


class Eyes:
    """Sees questions of a store.

    Args:
        backend: open.
    """

    def __init__(self, backend: Backend, clock: Clock) -> None:
        self._links = AnswerLinks(backend, system_entropy, clock.monotonic, public_url())

    async def see(self, question: Question) -> QuestionStatus:
        """The public view of a question.

        Raises:
            BackendError: the backend does not answer.
        """
        url = await self._links.url(question.id) if question.state == "open" else ""
        return status_of_question(question, url)
