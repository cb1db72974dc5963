"""From a call's arguments to a body, and from a body back to arguments and from a value to a result."""

from __future__ import annotations

import re
from inspect import Parameter
from types import NoneType, UnionType
from typing import Any, Final, NoReturn, get_args, get_type_hints

from msgspec import UNSET, UnsetType
from msgspec.structs import astuple

from noria.app.annotation import classes_in
from noria.app.signature import Signature
from noria.app.strays import find_stray
from noria.codecs import DEFAULT, Decode, Misfit, Oversize, find_codec
from noria.codecs.misfit import path_of
from noria.errors import InvalidArguments, InvalidOption, InvalidResult, ResultTooLarge, TooLarge
from noria.model.limits import MAX_BODY, MAX_RESULT
from noria.model.task import Arguments

_QUOTED: Final = re.compile(r"'([^']*)'")
_TEXT: Final = (str, UnsetType, NoneType)
"""What a parameter for text may hold here; whether None fits is for the decoder to say."""
_NO_WORDS: Final[dict[str, Any]] = {}
"""Keyword arguments of a call that has none; never written to."""
_GOT: Final = re.compile(r"got \w+")


class Binding:
    """Carries one task's arguments and results across the wire.

    Args:
        task: its name.
        signature: its types.
    """

    def __init__(self, task: str, signature: Signature) -> None:
        self._task = task
        self.signature = signature
        self._shape = signature.shape
        self._fields = signature.shape.__struct_fields__
        self._has_defaults = any(each is not Parameter.empty for each in signature.defaults)
        self._decoders: dict[str, Decode] = {DEFAULT.name: DEFAULT.decoder(signature.shape, MAX_BODY)}
        self._results: dict[str, Decode] = {DEFAULT.name: DEFAULT.decoder(signature.returns, MAX_RESULT)}
        self._check = DEFAULT.decoder(signature.shape, None)
        self._classes = classes_in(signature.shape)
        self._texts = [name for name, hint in get_type_hints(signature.shape).items() if _is_text(hint)]

    def pack(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        """Bind and encode the arguments of a call, and decode them as the worker will, to see that they fit.

        Raises:
            InvalidArguments: they do not fit the signature, or cannot be stored; `field` names the parameter.
            TooLarge: they are larger or nested deeper than the limit.
        """
        try:
            bound = self._shape(*args, **kwargs)
        except TypeError as error:
            raise self._unbound(error) from None
        for name in self._texts:
            if not isinstance(getattr(bound, name), _TEXT):
                self._refuse_text(name, getattr(bound, name))
        try:
            body = DEFAULT.encode(bound, MAX_BODY)
        except Misfit as misfit:
            raise self._refused(self._culprit(bound) or misfit, bound) from misfit.__cause__
        try:
            arriving = self._check(body)
        except Misfit as misfit:
            raise self._refused(misfit, bound) from misfit.__cause__
        if any(map(type.__subclasses__, self._classes)):
            self._refuse_strays(bound, arriving)
        return body

    def first_alone(self) -> str:
        """The first parameter, if a call that gives no other is whole.

        Raises:
            InvalidOption: there is none, or others have no default.
        """
        others = zip(self._fields[1:], self.signature.defaults[1:], strict=True)
        missing = [name for name, default in others if default is Parameter.empty]
        if not self._fields or missing:
            why = f"{missing[0]!r} has no default" if missing else "it takes no argument"
            raise InvalidOption(
                f"task {self._task!r} cannot be given the values of the jobs before it as its first argument: {why}; "
                f"use {self._task}.job(...) for a step that gets none",
                field="then",
            )
        return self._fields[0]

    def unpack(self, body: bytes, codec: str) -> Arguments:
        """Decode a body, wherever it came from, into the function's positional and keyword arguments.

        Raises:
            InvalidArguments: it does not fit the signature, is too large or too deep, or no codec reads it.
        """
        try:
            bound = self._decoder(self._decoders, codec, self._shape, MAX_BODY)(body)
        except Misfit as misfit:
            raise self._invalid(misfit) from misfit.__cause__
        values = astuple(bound)
        if self._has_defaults:
            values = self._filled(values)
        count = self.signature.by_position
        if count == len(values):
            return values, _NO_WORDS
        return values[:count], dict(zip(self._fields[count:], values[count:], strict=True))

    def read(self, body: bytes, codec: str) -> dict[str, Any]:
        """A body as arguments by name, the function's own defaults included.

        Raises:
            InvalidArguments: as `unpack`.
        """
        args, kwargs = self.unpack(body, codec)
        return dict(zip(self._fields, args, strict=False)) | kwargs

    def check(self, body: bytes) -> None:
        """See whether a JSON body from anywhere fits the signature.

        Raises:
            InvalidArguments: it does not; `field` is the path to what does not.
        """
        try:
            self._decoders[DEFAULT.name](body)
        except Misfit as misfit:
            raise self._invalid(misfit) from misfit.__cause__

    def pack_result(self, value: Any) -> tuple[bytes, str]:
        """Encode what the handler returned, and decode it as whoever waits for it will, to see that it fits.

        Raises:
            ResultTooLarge: it is larger or nested deeper than the limit.
            InvalidResult: it cannot be encoded, or is not what the function says that it returns.
        """
        returns = self.signature.returns
        try:
            result = DEFAULT.encode(value, MAX_RESULT)
            if returns is not Any and not (value is None and returns is NoneType):
                self._check_result(value, result)
            return result, DEFAULT.name
        except Oversize as misfit:
            raise ResultTooLarge(misfit.of(f"the result of task {self._task!r}")) from None
        except Misfit as misfit:
            raise InvalidResult(misfit.of(f"the result of task {self._task!r}")) from misfit.__cause__

    def _check_result(self, value: Any, result: bytes) -> None:
        """See that a result fits; bytes, dates and others that become text would arrive as what they were not."""
        given = type(value).__name__
        try:
            if not isinstance(value, _TEXT) and _is_text(self.signature.returns):
                raise Misfit(f"expected str, got {given}")
            self._results[DEFAULT.name](result)
        except Misfit as misfit:
            words = misfit.words if misfit.path else _GOT.sub(f"got {given}", misfit.words)
            told = Misfit(words, misfit.path).of("the result")
            words = f"task {self._task!r} does not return what its annotation says: {told}"
            raise InvalidResult(words) from misfit.__cause__

    def unpack_result(self, result: bytes, codec: str) -> Any:
        """Decode a stored result into the function's return type.

        Raises:
            Misfit: it is of another type.
        """
        return self._decoder(self._results, codec, self.signature.returns, MAX_RESULT)(result)

    def _decoder(self, known: dict[str, Decode], codec: str, shape: Any, limit: int) -> Decode:
        found = known.get(codec)
        if found is None:
            found = known[codec] = find_codec(codec).decoder(shape, limit)
        return found

    def _filled(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The values, with the function's own defaults where the caller gave none."""
        pairs = zip(values, self.signature.defaults, strict=True)
        return tuple([default if value is UNSET else value for value, default in pairs])

    def _unbound(self, error: TypeError) -> InvalidArguments:
        quoted = _QUOTED.search(str(error))
        words = str(error)[:1].lower() + str(error)[1:200]
        return InvalidArguments(
            f"task {self._task!r}: {words}; it takes {self.signature.text}",
            field=quoted[1] if quoted else "",
        )

    def _refuse_text(self, name: str, value: object) -> NoReturn:
        """Bytes, dates and many others become text on the wire, and would arrive as what they were not."""
        words = f"{name}: expected str, got {type(value).__name__}"
        raise InvalidArguments(f"task {self._task!r}: {words}", field=name)

    def _refuse_strays(self, bound: Any, arriving: Any) -> None:
        for name in self._fields:
            stray = find_stray(getattr(bound, name), getattr(arriving, name), self._classes, name)
            if stray is not None:
                raise self._invalid(stray)

    def _refused(self, misfit: Misfit, bound: Any) -> InvalidArguments | TooLarge:
        """What to raise for arguments that cannot travel; the parameter that is to blame is named."""
        if isinstance(misfit, Oversize):
            return TooLarge(f"task {self._task!r}: {misfit.of('the body')}", field=misfit.path)
        if misfit.path in self._fields:
            given = type(getattr(bound, misfit.path)).__name__
            misfit = Misfit(_GOT.sub(f"got {given}", misfit.words), misfit.path)
        return self._invalid(misfit)

    def _culprit(self, bound: Any) -> Misfit | None:
        for name, value in zip(self._fields, astuple(bound), strict=True):
            try:
                DEFAULT.encode(None if value is UNSET else value, MAX_BODY)
            except Misfit as misfit:
                return type(misfit)(misfit.words, path_of(filter(None, [misfit.path]), name))
        return None

    def _invalid(self, misfit: Misfit) -> InvalidArguments:
        return InvalidArguments(f"task {self._task!r}: {misfit.of('the body')}", field=misfit.path)


def _is_text(hint: Any) -> bool:
    """Whether a parameter takes text, or nothing, and nothing else."""
    kinds = set(get_args(hint)) - {UnsetType, NoneType} if isinstance(hint, UnionType) else {hint}
    return kinds == {str}


def decode_anything(result: bytes, codec: str) -> Any:
    """Decode a stored result of which no type is known: as the codec has it.

    Raises:
        Misfit: it is malformed, or no codec reads it.
    """
    return find_codec(codec).decoder(Any, MAX_RESULT)(result)
