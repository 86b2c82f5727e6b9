"""What only POSIX systems have stays in `system/`: a check of the source, since tests run on one system at a time."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.source_tree import sources

MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
OF_OS = {
    "O_NONBLOCK", "WEXITSTATUS", "chown", "chroot", "fchmod", "fork", "forkpty", "getegid", "geteuid", "getgid",
    "getloadavg", "getpgid", "getuid", "killpg", "mkfifo", "mknod", "nice", "openpty", "posix_fadvise",
    "posix_fallocate", "posix_spawn", "sched_getaffinity", "sched_setaffinity", "setpgid", "setsid", "statvfs",
    "sync", "sysconf", "uname", "wait", "waitpid",
    "rename",  # refused by Windows where the target exists, unlike replace
}  # fmt: skip
OF_SIGNAL = {"SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP", "SIGUSR1", "SIGUSR2", "alarm",
             "pause", "setitimer", "sigwait"}  # fmt: skip
ARGUMENTS = {"preexec_fn", "start_new_session", "pass_fds"}  # of subprocess
PLACES = re.compile(r"^/(tmp|dev|proc|sys|etc|var|usr|home|bin)\b")
READS_TEXT = {"open", "read_text", "write_text", "fdopen"}


def faults(tree: ast.Module) -> Iterator[str]:
    """What a tree asks of the system that only some have, with its line."""
    for node in ast.walk(tree):
        for fault in (*_names(node), *_calls(node)):
            yield f"line {getattr(node, 'lineno', 0)}: {fault}"


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        asked = {alias.name.split(".")[0] for alias in node.names} | {(getattr(node, "module", "") or "").split(".")[0]}
        yield from sorted(f"import {name}" for name in asked & MODULES)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = node.value.id
        if (owner == "os" and node.attr in OF_OS) or (owner == "signal" and node.attr in OF_SIGNAL):
            yield f"{owner}.{node.attr}"
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and PLACES.match(node.value):
        yield f"the place {node.value}"


def _calls(node: ast.AST) -> Iterator[str]:
    if not isinstance(node, ast.Call):
        return
    named = {keyword.arg for keyword in node.keywords}
    yield from sorted(f"{name}=" for name in named & ARGUMENTS if name)
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name in ("get_context", "set_start_method") and any(getattr(arg, "value", "") == "fork" for arg in node.args):
        yield "processes by fork"
    if name == "split" and len(node.args) == 1 and getattr(node.args[0], "value", None) == "/" and _is_path(node.func):
        yield "a path split at /"
    if name in READS_TEXT and _is_text(node, name) and "encoding" not in named and not _says_utf8(node):
        yield f"{name} of text without an encoding"


def _is_path(function: ast.expr) -> bool:
    return "path" in ast.dump(function).lower()


def _is_text(node: ast.Call, name: str) -> bool:
    if name in ("read_text", "write_text"):
        return isinstance(node.func, ast.Attribute)
    modes = [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
    mode = "".join(str(getattr(each, "value", "")) for each in modes)
    if name == "open" and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) != "io":
        return "t" in mode  # of archives and compressed files, which are binary otherwise
    return "b" not in mode


def _says_utf8(node: ast.Call) -> bool:
    return any(getattr(arg, "value", None) in ("utf-8", "ascii", "utf-8-sig") for arg in node.args)


def test_only_the_system_layer_asks_for_what_posix_alone_has() -> None:
    found = [
        f"{path}, {fault}" for path, tree in sources().items() if path.parts[0] != "system" for fault in faults(tree)
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    ["import fcntl", "from resource import getrusage", "os.fork()", "os.rename(a, b)", "signal.SIGKILL",
     "subprocess.run(a, start_new_session=True)", "Path('/tmp/x')", "get_context('fork')", "str(path).split('/')",
     "open('a.csv')", "open('a.csv', 'w')", "path.read_text()", "path.write_text(words)", "gzip.open(path, 'rt')"],
)  # fmt: skip
def test_each_of_these_would_be_noticed(source: str) -> None:
    assert list(faults(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    ["os.replace(a, b)", "signal.SIGINT", "open('a.npy', 'rb')", "path.read_text('utf-8')", "words.split('/')",
     "open('a.csv', encoding='utf-8', newline='')", "archive.open(member)", "gzip.open(path)", "get_context('spawn')"],
)  # fmt: skip
def test_what_every_system_has_is_let_pass(source: str) -> None:
    assert list(faults(ast.parse(source))) == []
