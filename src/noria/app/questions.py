"""Questions of jobs, for the application: listed, and answered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from noria.app.link import Links
from noria.app.questionbook import QuestionBook
from noria.app.seen import Eyes
from noria.app.task import Home
from noria.model.asked import QuestionStatus
from noria.model.question import Action


class Questions:
    """What jobs ask. `async for question in app.questions` gives the open ones, the oldest first.

    Every coroutine raises `NotRunning` outside `async with app:`, and `BackendError` if the backend does not answer.
    """

    def __init__(self, links: Links, home: Home) -> None:
        self._links = links
        self._home = home

    async def __aiter__(self) -> AsyncIterator[QuestionStatus]:
        """The open questions; those that are opened meanwhile may be missing."""
        after: str | None = None
        eyes = self._eyes()
        while True:
            page, after = await self._book().page(after)
            for question in page:
                yield await eyes.see(question)
            if after is None:
                return

    async def get(self, id: str) -> QuestionStatus:
        """Read a question, however it stands.

        Raises:
            QuestionNotFound: there is none, or not any more.
        """
        return await self._eyes().see(await self._book().get(id))

    async def answer(
        self, id: str, data: Any = None, *, action: Action = "accept", by: str = ""
    ) -> QuestionStatus:
        """Answer a question. The first answer counts; the same one again is taken for it.

        Args:
            id: the question's.
            data: the answer, as JSON has it.
            action: "decline" to answer, or "cancel" it without a choice; then there is no `data`.
            by: who answers, for people; at most 128 characters.

        Raises:
            QuestionNotFound: there is none, or not any more.
            AlreadyAnswered: it has another answer.
            QuestionExpired: its time is over.
            QuestionSuperseded: the start that asked is over; the error names the question in its place.
            WrongState: its job has ended, or does not wait any more.
            InvalidAnswer: the answer does not fit; the question stays open.
        """
        return await self._eyes().see(await self._book().answer(id, action, data, by=by))

    def _eyes(self) -> Eyes:
        return Eyes(self._links.here().backend, self._home.clock)

    def _book(self) -> QuestionBook:
        return QuestionBook(self._links.here().backend, self._home.clock.wall)
