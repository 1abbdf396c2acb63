"""The standard library of the running Python as a corpus: real data without a download."""

import ast
import io
import keyword
import re
import sysconfig
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tokenize import detect_encoding

import numpy as np

from mcsquared.corpus import Corpus
from mcsquared.corpus.sources.words import function_words
from mcsquared.errors import InputError

EXCLUDED = {"test", "tests", "idle_test", "site-packages", "dist-packages", "_bundled"}
MIN_WORDS = 20  # of a module; files with fewer are left out
_CONTRACTIONS = "don doesn isn aren won can couldn shouldn wouldn didn ve ll re"
# Splits hyper_text, HyperText and HYPERText into the same two words.
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)  # have docstrings
_NAME_FIELDS = frozenset({"name", "asname", "module", "id", "attr", "arg"})  # of nodes
# Strings are matched as well, so that a # inside one does not start a comment.
_COMMENT = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\''
    r'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#(?P<comment>[^\n]*)',
    re.DOTALL,
)


@dataclass(frozen=True)
class Module:
    """The words of a source file (names, docstrings and comments) and its contexts."""

    name: str
    words: list[str]
    imports: list[str]
    n_lines: int
    is_package: bool


def standard_library(folder: str | Path | None = None) -> Corpus:
    """Read the modules of the running Python's standard library, without its tests.

    Words are those of names, docstrings and comments, at least three letters long, in at least
    five modules and in at most a quarter of them (no such limits for 100 modules or fewer).
    Contexts: ``imports``, the imported modules (a bag); ``size``, log10 of the number of lines
    (Gaussian); ``package``, whether the module is the ``__init__`` of a package (Bernoulli).

    Parameters
    ----------
    folder : path, optional
        Root of the sources, by default the standard library of the running Python. Any other tree
        of Python files works as well.

    Examples
    --------
    >>> corpus = mc2.datasets.standard_library()
    >>> list(corpus.contexts)
    ['imports', 'size', 'package']
    """
    root = Path(sysconfig.get_paths()["stdlib"] if folder is None else folder)
    modules = [module for module in _modules(root) if len(module.words) >= MIN_WORDS]
    if len(modules) < 2:
        raise InputError(
            f"folder must contain at least two Python files with {MIN_WORDS} words or more, got "
            f"{len(modules)} in {str(root)!r}; some Python installations have no library sources"
        )
    few = len(modules) <= 100
    return Corpus.from_texts(
        [" ".join(module.words) for module in modules],
        contexts={
            "imports": [module.imports for module in modules],
            "size": np.log10([module.n_lines for module in modules]),
            "package": [module.is_package for module in modules],
        },
        group_names=[module.name for module in modules],
        token_pattern=r"\S+",
        stop_words=None if few else [*function_words("english"), *_CONTRACTIONS.split()],
        min_df=1 if few else 5,
        max_df=1.0 if few else 0.25,
    )


def _modules(root: Path) -> Iterator[Module]:
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if EXCLUDED.isdisjoint(parts):
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            module = _read(path, name, is_package)
            if module is not None and name:
                yield module


def _read(path: Path, name: str, is_package: bool) -> Module | None:
    """Read one source file; return None if the running Python cannot parse it."""
    try:
        source = path.read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escape sequences
            tree = ast.parse(source)
        text = source.decode(detect_encoding(io.BytesIO(source).readline)[0])
    except (OSError, SyntaxError, ValueError):
        return None
    nodes = list(ast.walk(tree))
    return Module(
        name=name,
        words=[*_words_of_tree(nodes), *_words_of_comments(text)],
        imports=sorted(_imports(nodes)),
        n_lines=text.count("\n") + 1,
        is_package=is_package,
    )


def _words_of_tree(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, _DOCUMENTED):
            yield from _split(ast.get_docstring(node, clean=False) or "")
        for field in _NAME_FIELDS.intersection(node._fields):
            if isinstance(value := getattr(node, field), str):
                yield from _split(value)


def _words_of_comments(text: str) -> Iterator[str]:
    for found in _COMMENT.finditer(text):
        if found["comment"]:
            yield from _split(found["comment"])


def _split(text: str) -> Iterator[str]:
    for part in _PARTS.findall(text):
        word = part.lower()
        if len(word) > 2 and not keyword.iskeyword(word):
            yield word


def _imports(nodes: list[ast.AST]) -> set[str]:
    """Return the top-level modules imported anywhere in a file."""
    modules: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            modules.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.split(".")[0])
    return modules
