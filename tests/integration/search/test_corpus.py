"""A folder of documents as it may be found: changing, damaged, hostile, in any script."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from research_agent.errors import SourceError, UsageError
from research_agent.search.corpus import provider as corpus_module
from research_agent.search.corpus.folder import MAX_BYTES, FoundFile
from research_agent.search.corpus.index import MAX_TERMS, SNIPPET, query_terms, snippet
from research_agent.search.corpus.provider import Corpus

Open = Callable[[], Awaitable[Corpus]]
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs links, pipes and modes of POSIX")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    return tmp_path / "docs"


@pytest.fixture
async def open_corpus(folder: Path, tmp_path: Path) -> AsyncIterator[Open]:
    opened: list[Corpus] = []

    async def open_it() -> Corpus:
        opened.append(await Corpus.open(folder, tmp_path / "cache"))
        return opened[-1]

    yield open_it
    for corpus in opened:
        await corpus.close()


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


async def names(corpus: Corpus, query: str, limit: int = 10) -> list[str]:
    return [hit.url.rsplit("/", 1)[1] for hit in await corpus.search(query, limit)]


def reasons(corpus: Corpus) -> dict[str, str]:
    return {skipped.path.name: skipped.reason for skipped in corpus.skipped}


async def test_documents_are_found_and_read(folder: Path, open_corpus: Open) -> None:
    path = write(folder, "mills.md", "# On mills\n\nA mill grinds grain.\nThe river drives its wheel.\n")
    write(folder, "deep/er/Bridges.TXT", "Bridges cross the river.")
    write(folder, "code.py", "river")
    corpus = await open_corpus()
    assert (corpus.name, corpus.documents, corpus.skipped) == ("corpus", 2, [])
    (hit,) = await corpus.search("grinding of grains", 5)
    assert (hit.url, hit.title, hit.source) == (path.as_uri(), "On mills", "corpus")
    assert hit.snippet == "A mill grinds grain. The river drives its wheel."
    page = await corpus.read(hit.url)
    assert (page.kind, page.media_type, page.url) == ("document", "text/markdown", hit.url)
    assert page.text == "# On mills\n\nA mill grinds grain.\nThe river drives its wheel."


async def test_html_and_pdf_are_read_in_a_process_of_their_own(folder: Path, open_corpus: Open) -> None:
    cyrillic = "<html><head><title>Река</title></head><body><p>Мельница стоит у реки.</p></body></html>"
    write(folder, "a.html", cyrillic.encode("windows-1251"))
    write(folder, "b.htm", "<p>plain fragment about bridges")
    write(folder, "c.pdf", _pdf("Windmills grind in the wind"))
    write(folder, "broken.pdf", b"%PDF-1.7 rubbish")
    write(folder, "empty.html", "<html><body></body></html>")
    corpus = await open_corpus()
    assert corpus.documents == 3
    assert await names(corpus, "мельница") == ["a.html"]
    assert await names(corpus, "bridge") == ["b.htm"]
    assert await names(corpus, "windmill") == ["c.pdf"]
    assert "broken PDF" in reasons(corpus)["broken.pdf"]
    assert "no text in it" in reasons(corpus)["empty.html"]


async def test_no_process_is_started_for_text(folder: Path, open_corpus: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(corpus_module, "ExtractionWorker")
    write(folder, "a.md", "river")
    write(folder, "b.txt", _pdf("river"))
    corpus = await open_corpus()
    assert corpus.documents == 1
    assert "is a PDF" in reasons(corpus)["b.txt"]


async def test_a_page_that_takes_too_long_is_skipped_and_not_tried_again(
    folder: Path, open_corpus: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = corpus_module.ExtractionWorker
    monkeypatch.setattr(corpus_module, "ExtractionWorker", lambda: worker(deadline=0.7))
    write(folder, "flood.html", b"<html><p " + b" ".join(b'a%d="<"' % i for i in range(40_000)) + b">lost</p>")
    write(folder, "good.html", "<p>The river is calm.</p>")
    corpus = await open_corpus()
    assert await names(corpus, "river") == ["good.html"]
    assert "longer than" in reasons(corpus)["flood.html"]
    monkeypatch.delattr(corpus_module, "ExtractionWorker")
    assert "longer than" in reasons(await open_corpus())["flood.html"]


async def test_new_changed_and_removed_files_are_noticed(folder: Path, open_corpus: Open) -> None:
    changed = write(folder, "changed.md", "alpha")
    removed = write(folder, "removed.md", "beta")
    write(folder, "same.md", "gamma")
    await open_corpus()
    write(folder, "new.md", "delta")
    write(folder, "changed.md", "epsilon now")
    removed.unlink()
    corpus = await open_corpus()
    assert corpus.documents == 3
    assert await names(corpus, "alpha beta") == []
    assert await names(corpus, "delta epsilon gamma") == ["new.md", "same.md", "changed.md"]
    assert (await corpus.read(changed.as_uri())).text == "epsilon now"
    with pytest.raises(SourceError):
        await corpus.read(removed.as_uri())


async def test_unchanged_files_are_not_opened_again(
    folder: Path, open_corpus: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "a.md", "river")
    write(folder, "empty.md", "")
    await open_corpus()
    monkeypatch.delattr(corpus_module, "read_bytes")
    corpus = await open_corpus()
    assert corpus.documents == 1
    assert "no text in it" in reasons(corpus)["empty.md"]


async def test_a_thousand_files_are_indexed_and_reopened_quickly(folder: Path, open_corpus: Open) -> None:
    for i in range(1000):
        write(folder, f"{i}.md", f"# Note {i}\n\n" + f"Word{i} flows down the river past the mill. " * 10)
    began = time.perf_counter()
    await open_corpus()
    built = time.perf_counter()
    corpus = await open_corpus()
    reopened = time.perf_counter()
    assert corpus.documents == 1000
    # Ten times what it takes on an idle machine; the tests around this one keep all cores busy.
    assert built - began < 8
    assert reopened - built < 0.5


async def test_equal_documents_come_in_the_order_of_their_urls(folder: Path, open_corpus: Open) -> None:
    for name in ("b", "d", "a", "c"):
        write(folder, f"{name}.md", "the very same text")
    assert await names(await open_corpus(), "same text") == ["a.md", "b.md", "c.md", "d.md"]


async def test_order_does_not_depend_on_the_history_of_the_index(folder: Path, tmp_path: Path) -> None:
    texts = {f"{i}.md": f"river {'mill ' * (i % 7)} {'bridge ' * (i % 5)} word{i}" for i in range(40)}
    for name in sorted(texts, reverse=True):
        write(folder, name, "old text of another length, river river")
        corpus = await Corpus.open(folder, tmp_path / "grown")
        await corpus.close()
        write(folder, name, texts[name])
    found = []
    for cache in ("grown", "fresh"):
        corpus = await Corpus.open(folder, tmp_path / cache)
        found.append(await corpus.search("mill bridge river", 40))
        await corpus.close()
    assert found[0] == found[1]


async def test_the_title_weighs_more_than_the_text(folder: Path, open_corpus: Open) -> None:
    write(folder, "a.md", "# Other\n\nzebra one two three four")
    write(folder, "b.md", "# Zebra\n\nother one two three four")
    assert await names(await open_corpus(), "zebra") == ["b.md", "a.md"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("これは東京都の水車小屋についての文書です。", "水車小屋"),
        ("这条河穿过山谷，人们建造了磨坊。", "磨坊"),
        ("그 강은 계곡을 가로질러 흘렀고 방앗간을 지었다.", "방앗간"),
        ("ภาษาไทยเป็นภาษาที่มีระดับเสียง", "ภาษาไทย"),
        ("हिन्दी भाषा में एक लेख", "हिन्दी"),
        ("Ο μύλος είναι δίπλα στο ποτάμι", "ΜΥΛΟΣ"),
        ("It cost 2,500.5 dollars in v1.2.3", "2,500.5"),
        ("A résumé of Alû and naïve things", "resume"),
        ("Résumés were sent", "résumé"),
        ("snake_case_name in code", "case"),
        ("The emoji 🎉 party", "party 🎉"),
        ("Newer letters: 𞤀𞤣𞤤𞤢𞤥", "𞤀𞤣𞤤𞤢𞤥"),
        ("The Who was a band", "the who"),
    ],
)
async def test_words_of_any_script_find_their_document(folder: Path, open_corpus: Open, text: str, query: str) -> None:
    write(folder, "this.md", text)
    write(folder, "other.md", "Completely different.")
    assert (await names(await open_corpus(), query))[:1] == ["this.md"]


@pytest.mark.parametrize(
    "query",
    [
        'river"', '"', "river AND", "NOT river", "title:river", "river*", "^river", "NEAR(river mill, 2)", "(river",
        "river\0", "river; DROP TABLE documents", "-river", "river + mill", "{river}",
        "rív\ud800er river", "' OR 1=1 river",
    ],
)  # fmt: skip
async def test_any_text_is_a_safe_query(folder: Path, open_corpus: Open, query: str) -> None:
    write(folder, "a.md", "The river of title near words.")
    corpus = await open_corpus()
    assert await names(corpus, query) == (["a.md"] if "river" in query else [])


async def test_queries_without_words_or_matches_find_nothing(folder: Path, open_corpus: Open) -> None:
    write(folder, "a.md", "river")
    corpus = await open_corpus()
    for query in ("", "   ", "?!…", "\0", "absent"):
        assert await corpus.search(query, 5) == []
    assert await corpus.search("river", 0) == []
    assert await corpus.search("river", -1) == []


async def test_long_queries_are_cut(folder: Path, open_corpus: Open) -> None:
    write(folder, "a.md", "river")
    corpus = await open_corpus()
    assert await names(corpus, "river " + " ".join(f"w{i}" for i in range(500_000))) == ["a.md"]
    assert len(query_terms(" ".join(f"w{i}" for i in range(1000)))) == MAX_TERMS


@pytest.mark.parametrize(
    "name",
    [
        "with space.md",
        "quo'te\".md",
        "ünï cödé 文書.md",
        "100%.md",
        "a#b?c.md",
        "per%20cent.md",
        "[x](y).md",
        "semi;&.md",
    ],
)
@posix
async def test_any_file_name_has_a_url_that_can_be_read(folder: Path, open_corpus: Open, name: str) -> None:
    path = write(folder, name, "river text")
    corpus = await open_corpus()
    (hit,) = await corpus.search("river", 5)
    assert hit.url == path.as_uri()
    assert hit.url.isascii()
    for spelling in (hit.url, f"<{hit.url}>", str(path), name, f"file://localhost{hit.url[7:]}"):
        assert (await corpus.read(spelling)).url == hit.url


@pytest.mark.skipif(sys.platform != "linux", reason="file names that are not UTF-8 exist on Linux only")
async def test_a_file_name_that_is_not_unicode(folder: Path, open_corpus: Open) -> None:
    with open(os.fsencode(folder) + b"/caf\xe9.md", "w") as file:  # noqa: PTH123
        file.write("river")
    corpus = await open_corpus()
    (hit,) = await corpus.search("river", 5)
    page = await corpus.read(hit.url)
    page.title.encode()
    assert page.text == "river"


async def test_nothing_but_the_index_is_ever_read(folder: Path, open_corpus: Open, tmp_path: Path) -> None:
    write(folder, "a.md", "river")
    secret = write(tmp_path, "secret.md", "secret")
    write(folder, "plain.py", "code")
    corpus = await open_corpus()
    inside = folder.as_uri()
    asked = [secret.as_uri(), "../secret.md", f"{inside}/../secret.md", f"{inside}/plain.py", inside, str(folder)]
    asked += ["file:///etc/passwd", "file://", "file://[", "http://example.org/", "", "\0", "a.md\0", "x" * 100_000]
    for url in [*asked, "\ud800"]:
        with pytest.raises(SourceError, match="no document of the corpus") as caught:
            await corpus.read(url)
        str(caught.value).encode()
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 400


async def test_a_document_that_is_gone_is_still_read_from_the_index(folder: Path, open_corpus: Open) -> None:
    path = write(folder, "a.md", "river")
    corpus = await open_corpus()
    path.unlink()
    assert (await corpus.read(path.as_uri())).text == "river"


async def test_large_empty_and_binary_files_are_skipped(folder: Path, open_corpus: Open) -> None:
    write(folder, "good.md", "river")
    write(folder, "nul.txt", "mill\0stream here")
    with (folder / "large.txt").open("wb") as file:
        file.truncate(50 * 1024 * 1024)
    write(folder, "just.md", b"a" * (MAX_BYTES + 1))
    write(folder, "empty.md", "")
    write(folder, "binary.txt", bytes(range(256)) * 100)
    corpus = await open_corpus()
    assert corpus.documents == 2
    assert await names(corpus, "millstream") == ["nul.txt"]
    assert reasons(corpus)["large.txt"] == "larger than 20 MB; split it (50 MB)"
    assert set(reasons(corpus)) == {"large.txt", "just.md", "empty.md", "binary.txt"}


@posix
async def test_hidden_files_pipes_and_other_types_are_left_alone(folder: Path, open_corpus: Open) -> None:
    write(folder, "good.md", "river")
    write(folder, ".hidden.md", "river")
    write(folder, ".git/notes.md", "river")
    os.mkfifo(folder / "pipe.md")
    os.mkfifo(folder / "other")
    (folder / "folder.md").mkdir()
    corpus = await asyncio.wait_for(open_corpus(), 20)
    assert corpus.documents == 1
    assert reasons(corpus) == {"pipe.md": "is not a regular file"}


@posix
async def test_links_inside_count_once_and_loops_end(folder: Path, open_corpus: Open) -> None:
    write(folder, "real/a.md", "river")
    write(folder, ".store/b.md", "river")
    (folder / "loop").symlink_to(folder)
    (folder / "real" / "up").symlink_to("..")
    (folder / "again").symlink_to("real")
    (folder / "copy.md").symlink_to("real/a.md")
    (folder / "shown").symlink_to(".store")
    (folder / "circle.md").symlink_to("circle.md")
    corpus = await open_corpus()
    assert corpus.documents == 2
    assert {hit.url for hit in await corpus.search("river", 9)} == {
        (folder / "real" / "a.md").as_uri(),
        (folder / "shown" / "b.md").as_uri(),
    }
    assert "leads nowhere" in reasons(corpus)["circle.md"]


@posix
async def test_links_that_lead_outside_are_reported_and_not_followed(
    folder: Path, open_corpus: Open, tmp_path: Path
) -> None:
    write(folder, "a.md", "river")
    write(tmp_path, "docs-other/b.md", "river")
    (folder / "out.md").symlink_to(tmp_path / "docs-other" / "b.md")
    (folder / "outside").symlink_to(tmp_path / "docs-other")
    (folder / "gone.md").symlink_to("nothing.md")
    corpus = await open_corpus()
    assert corpus.documents == 1
    assert {name: reason.split(";")[0] for name, reason in reasons(corpus).items()} == {
        "out.md": "is a link that leads outside of the folder",
        "outside": "is a link that leads outside of the folder",
        "gone.md": "is a link that leads nowhere: no such file or directory",
    }


@posix
async def test_the_folder_may_itself_be_a_link(folder: Path, tmp_path: Path) -> None:
    path = write(folder, "a.md", "river")
    (tmp_path / "link").symlink_to(folder)
    corpus = await Corpus.open(tmp_path / "link", tmp_path / "cache")
    assert [hit.url for hit in await corpus.search("river", 5)] == [path.resolve().as_uri()]
    await corpus.close()


@posix
async def test_a_file_that_becomes_readable_is_read_the_next_time(
    folder: Path, open_corpus: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "a.md", "river")
    locked = write(folder, "locked.md", "mill")
    locked.chmod(0)
    if os.access(locked, os.R_OK):  # the superuser opens anything, so the refusal has to be played
        real_open = os.open

        def refuse(path: str, *rest: int) -> int:
            if str(path).endswith("locked.md"):
                raise PermissionError(13, "Permission denied")
            return real_open(path, *rest)

        monkeypatch.setattr(os, "open", refuse)
    corpus = await open_corpus()
    assert reasons(corpus) == {"locked.md": "cannot be opened: permission denied"}
    monkeypatch.undo()
    locked.chmod(0o600)
    corpus = await open_corpus()
    assert corpus.documents == 2
    assert await names(corpus, "mill") == ["locked.md"]


@posix
async def test_what_replaces_a_file_after_listing_is_not_followed(
    folder: Path, open_corpus: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = write(tmp_path, "secret.md", "secret")
    for name in ("a.md", "link.md", "pipe.md"):
        write(folder, name, "river")
    listing = corpus_module.list_documents

    def swap(root: Path) -> object:
        found = listing(root)
        (folder / "link.md").unlink()
        (folder / "link.md").symlink_to(secret)
        (folder / "pipe.md").unlink()
        os.mkfifo(folder / "pipe.md")
        return found

    monkeypatch.setattr(corpus_module, "list_documents", swap)
    corpus = await asyncio.wait_for(open_corpus(), 20)
    assert await names(corpus, "river secret") == ["a.md"]
    assert set(reasons(corpus)) == {"link.md", "pipe.md"}


async def test_unusable_folders_are_refused_in_one_line(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cases = {
        "does not exist": tmp_path / "absent",
        "is a file": write(tmp_path, "file.md", "text"),
        "holds no documents": folder,
    }
    for says, path in cases.items():
        with pytest.raises(UsageError, match=says) as caught:
            await Corpus.open(path, cache)
        assert "\n" not in str(caught.value)
        assert ":" in str(caught.value)
    write(folder, "empty.md", "")
    with pytest.raises(UsageError, match=r"no readable document .*empty\.md: no text in it"):
        await Corpus.open(folder, cache)


@posix
async def test_a_folder_that_cannot_be_listed_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "a.md", "river")
    folder.chmod(0)
    if os.access(folder, os.R_OK):

        def refuse(path: str) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "scandir", refuse)
    try:
        with pytest.raises(UsageError, match="permission"):
            await Corpus.open(folder, tmp_path / "cache")
    finally:
        monkeypatch.undo()
        folder.chmod(0o700)


@pytest.mark.parametrize("content", [b"", b"rubbish " * 1000, b"SQLite format 3\0" + b"\1" * 5000])
async def test_a_damaged_cache_is_rebuilt(folder: Path, open_corpus: Open, tmp_path: Path, content: bytes) -> None:
    write(folder, "a.md", "river")
    await (await open_corpus()).close()
    (cache,) = (tmp_path / "cache").glob("*.sqlite")
    cache.write_bytes(content)
    corpus = await open_corpus()
    assert await names(corpus, "river") == ["a.md"]
    await corpus.close()
    assert cache.read_bytes().startswith(b"SQLite format 3\0")


async def test_a_cache_of_another_version_or_program_is_rebuilt(
    folder: Path, open_corpus: Open, tmp_path: Path
) -> None:
    write(folder, "a.md", "river")
    await (await open_corpus()).close()
    (cache,) = (tmp_path / "cache").glob("*.sqlite")
    for statement in ("PRAGMA user_version = 7", "PRAGMA application_id = 7"):
        db = sqlite3.connect(cache)
        db.execute(statement)
        db.execute("CREATE TABLE foreign_table (x)")
        db.close()
        corpus = await open_corpus()
        assert await names(corpus, "river") == ["a.md"]
        await corpus.close()
        db = sqlite3.connect(cache)
        assert db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'foreign_table'").fetchone() == (0,)
        db.close()


async def test_damage_inside_the_cache_ends_in_a_hint_and_a_rebuild(
    folder: Path, open_corpus: Open, tmp_path: Path
) -> None:
    for i in range(200):
        write(folder, f"{i}.md", f"river number{i} " * 50)
    await (await open_corpus()).close()
    (cache,) = (tmp_path / "cache").glob("*.sqlite")
    data = bytearray(cache.read_bytes())
    data[len(data) // 3 :] = b"\xff" * (len(data) - len(data) // 3)
    cache.write_bytes(data)
    corpus = await open_corpus()
    try:
        found = await names(corpus, "number7", 1)
    except SourceError as error:
        assert "start again" in str(error)
        found = await names(await open_corpus(), "number7", 1)
    assert found == ["7.md"]


async def test_without_a_writable_cache_the_index_is_in_memory(folder: Path, tmp_path: Path) -> None:
    write(folder, "a.md", "river")
    blocked = write(tmp_path, "not-a-folder", "file")
    for cache in (blocked, blocked / "below", Path("/proc/nowhere")):
        corpus = await Corpus.open(folder, cache)
        assert await names(corpus, "river") == ["a.md"]
        await corpus.close()


async def test_several_processes_open_one_corpus_at_once(folder: Path, tmp_path: Path) -> None:
    for i in range(150):
        write(folder, f"{i}.md", f"river number{i}")
    program = """
import asyncio, sys
from pathlib import Path
from research_agent.search.corpus.provider import Corpus
async def main():
    corpus = await Corpus.open(Path(sys.argv[1]), Path(sys.argv[2]))
    print(corpus.documents, corpus._cache is not None, (await corpus.search("number42", 3))[0].title)
    await corpus.close()
asyncio.run(main())
"""
    command = [sys.executable, "-c", program, str(folder), str(tmp_path / "cache")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for process in running:
        out, _ = await asyncio.to_thread(process.communicate, timeout=60)
        assert out == "150 True 42.md\n"


async def test_searches_run_at_the_same_time(folder: Path, open_corpus: Open) -> None:
    for i in range(50):
        write(folder, f"{i}.md", f"river number{i}")
    corpus = await open_corpus()
    found = await asyncio.gather(*(names(corpus, f"number{i}", 1) for i in range(50)))
    assert found == [[f"{i}.md"] for i in range(50)]


async def test_cancelling_while_opening_leaves_a_usable_cache(
    folder: Path, open_corpus: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(300):
        write(folder, f"{i}.md", f"river number{i}")
    loop, read_here = asyncio.get_running_loop(), corpus_module._read_here

    def cancel_on_the_way(file: FoundFile) -> object:
        if file.path.name == "42.md":
            loop.call_soon_threadsafe(task.cancel)
        return read_here(file)

    monkeypatch.setattr(corpus_module, "_read_here", cancel_on_the_way)
    task = asyncio.ensure_future(open_corpus())
    with pytest.raises(asyncio.CancelledError):
        await task
    monkeypatch.undo()
    assert (await open_corpus()).documents == 300


async def test_a_closed_corpus_says_so(folder: Path, open_corpus: Open) -> None:
    write(folder, "a.md", "river")
    corpus = await open_corpus()
    await corpus.close()
    await corpus.close()
    with pytest.raises(SourceError):
        await corpus.search("river", 1)


async def test_moving_a_corpus_makes_another_index(folder: Path, open_corpus: Open, tmp_path: Path) -> None:
    write(folder, "a.md", "river")
    await open_corpus()
    shutil.copytree(folder, tmp_path / "second")
    corpus = await Corpus.open(tmp_path / "second", tmp_path / "cache")
    assert (await corpus.search("river", 1))[0].url == (tmp_path / "second" / "a.md").as_uri()
    await corpus.close()
    assert len(list((tmp_path / "cache").glob("*.sqlite"))) == 2


def test_a_snippet_is_text_of_the_document_around_the_rarest_words() -> None:
    text = (
        "Filler sentence about nothing at all. " * 30
        + "The zebra crossed the river.\nIt was calm. "
        + "More filler. " * 50
    )
    found = snippet(text, {"zebra": 3.0, "river": 1.0})
    assert found.startswith("The zebra crossed the river. It was calm.")
    assert len(found) <= SNIPPET
    assert found in " ".join(text.split())


def test_a_snippet_of_text_without_sentences_is_cut_to_size() -> None:
    for text in ("word " * 5000 + "zebra " + "word " * 5000, "字" * 5000, "x" * 5000):
        found = snippet(text, {"zebra": 1.0})
        assert 0 < len(found) <= SNIPPET
        assert found in text
    assert "zebra" in snippet("word " * 5000 + "zebra " + "word " * 5000, {"zebra": 1.0})
    assert snippet("# Only a title", {"titl": 1.0}, title="Only a title") == "Only a title"


def _pdf(line: str) -> bytes:
    content = f"BT /F1 12 Tf 72 720 Td ({line}) Tj ET"
    return (
        "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
        "2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n"
        "3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources"
        " << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>\nendobj\n"
        f"4 0 obj\n<< /Length {len(content)} >>\nstream\n{content}\nendstream\nendobj\n"
        "trailer\n<< /Root 1 0 R >>\n%%EOF\n"
    ).encode()
