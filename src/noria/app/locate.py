"""Finds the application that a command line names."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Final

from noria.app.application import Noria
from noria.errors import ConfigError

_FORMS: Final = "name an application as module:attribute, or path/to/file.py (its `app`)"


def locate(reference: str) -> Noria:
    """Load an application.

    Args:
        reference: `module`, `module:attribute`, `path/to/file.py` or `path/to/file.py:attribute`; the
            attribute is `app` if none is named. Modules are looked for in the current folder too. A file whose
            folder is a package (has an `__init__.py`) is imported as a module of that package.

    Raises:
        ConfigError: there is no such module, file or attribute, or it is no `Noria`. An error inside the
            user's own code is the cause of this one, so that its traceback is shown.
    """
    where, _, attribute = reference.rpartition(":") if ":" in reference else (reference, "", "")
    attribute = attribute or "app"
    if not where:
        raise ConfigError(f"{reference!r:.100} names no application; {_FORMS}")
    module = _load_file(Path(where)) if where.endswith(".py") else _load_module(where)
    return _application(module, where, attribute)


def _application(module: ModuleType, where: str, attribute: str) -> Noria:
    found: object = module
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise ConfigError(f"{where} has no {attribute!r:.100}; {_candidates(module)}")
        found = getattr(found, name)
    if isinstance(found, Noria):
        return found
    raise ConfigError(f"{attribute!r} in {where} is {type(found).__name__}, no Noria; {_candidates(module)}")


def _candidates(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if isinstance(value, Noria)]
    return f"it has {', '.join(names)}" if names else "it makes no application: write app = Noria()"


def _load_module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise ConfigError(f"{name!r:.100} is no module's name; {_FORMS}")
    folder = str(Path.cwd())
    if folder not in sys.path and "" not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise ConfigError(
                f"there is no module {error.name!r} here or on the Python path; {_FORMS}"
            ) from None
        raise _broken(name, error) from error
    except Exception as error:
        raise _broken(name, error) from error


def _load_file(path: Path) -> ModuleType:
    if not _is_file(path):
        raise ConfigError(f"there is no file {str(path)!r:.300}; {_FORMS}")
    path = path.resolve()
    if (path.parent / "__init__.py").is_file():
        return _load_from_package(path)
    name = path.stem
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path):
        return loaded
    if loaded is not None or not name.isidentifier():
        name = f"noria_app_{re.sub(r'[^A-Za-z0-9]', '_', str(path))}"
    return _execute(name, path)


def _load_from_package(path: Path) -> ModuleType:
    """Import a file as what it is, a module of its package: so its relative imports work, and it is loaded once."""
    parts = [] if path.stem == "__init__" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    name = ".".join(parts)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        module = importlib.import_module(name)
    except Exception as error:
        raise _broken(f"{path}, as module {name} of its package,", error) from error
    if getattr(module, "__file__", None) != str(path):
        raise ConfigError(
            f"{path} is module {name} of a package, but another {name} is loaded, from "
            f"{getattr(module, '__file__', 'the interpreter')}: give the package another name"
        )
    return module


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # too long a name, or a folder that may not be entered
        return False


def _execute(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, Exception):
            raise _broken(str(path), error) from error
        raise
    return module


def _broken(where: str, error: Exception) -> ConfigError:
    return ConfigError(f"{where} cannot be imported: {type(error).__name__}: {error}")
