"""What the backend answered to a change of a job, as a state or as an error."""

from __future__ import annotations

from noria import ids
from noria.app.status import StateWord
from noria.backends.contract import Altered, Change
from noria.errors import JobNotFound, WrongState
from noria.ids import Id


def altered(id: Id, change: Change, answer: Altered) -> StateWord:
    """The job's state after a change.

    A cancel that comes too late is no error: the state says what the job had come to.

    Raises:
        JobNotFound: there is no such job.
        WrongState: its state does not allow the change.
    """
    job = ids.to_text(id)
    if answer.status == "missing" or answer.state is None:
        raise JobNotFound(f"job {job} is not there: erased, pruned, or never enqueued here")
    if answer.status == "conflict":
        what = f"job {job} cannot be {_DONE[change.kind]}"
        raise WrongState(f"{what}: another live job of its task has its unique key")
    if answer.status == "refused" and change.kind != "cancel":
        only = f"only {_ALLOWED[change.kind]} can be {_DONE[change.kind]}"
        raise WrongState(f"job {job} is {answer.state.word}; {only}")
    word: StateWord = answer.state.word  # type: ignore[assignment]  # the literal lists every state
    return word


_DONE = {"retry": "retried", "discard": "discarded", "cancel": "cancelled"}
_ALLOWED = {"retry": "failed, cancelled and expired jobs", "discard": "failed jobs"}
