"""Runs that are told by hand: each shows one thing that a journal can be asked about. Sites and facts are invented."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from research_agent.documents import Page
from research_agent.limits import Limits
from tests.support.seed.acts import ask, failed_read, failed_search, read, search
from tests.support.seed.rows import Tables
from tests.support.seed.run import SeededRun

FLASH, PRO = "google_genai:gemini-2.5-flash", "google_genai:gemini-2.5-pro"
GPT, HAIKU = "openai:gpt-5-mini", "anthropic:claude-haiku-4-5"

GO = "How do Go programs start up fast?"
HEAT = "Do heat pumps work in cold winters?"
WIND = "What does offshore wind power cost now?"


def _page(url: str, title: str, *paragraphs: str, published: str = "2026-03-01", links: tuple[str, ...] = ()) -> Page:
    text = "\n\n".join(paragraphs)
    return Page(url, title, text, media_type="text/html", published=published, language="en", links=links)


INIT_TIME = "Most of the start-up time of a large Go program is spent in init functions that build maps."
LAZY = "One service that built its tables on first use started in 9 milliseconds instead of 140."
STRIPPED = "Stripping the symbols made the binary of one service 28 percent smaller."
CORNERS = "A fast opening in Go takes the corners first, then the sides, and leaves the centre for last."
INITTRACE = "With GODEBUG=inittrace=1 a Go program prints the time that the initialisation of each package takes."

STARTUP = _page(
    "https://runtime-notes.example/go-startup",
    "What a Go program does before main",
    f"Before main runs, a Go program initialises its packages in the order of their imports. {INIT_TIME}",
    LAZY,
)
BINARY = _page(
    "https://www.systems-weekly.example/cold-starts",
    "Binary size and cold starts",
    f"A cold start reads the binary from disk, so a large binary starts later than a small one. {STRIPPED}",
)
OPENINGS = _page(
    "https://boardgames.example/go/fast-openings",
    "Fast openings in Go",
    f"{CORNERS} Strong players settle their first moves within seconds.",
    "The opening decides where the fighting will be. Beginners lose time there because every point looks alike.",
)
JOSEKI = _page(
    "https://boardgames.example/go/joseki", "Opening patterns in the corner", "A pattern is a fair exchange."
)
TRACE = _page(
    "https://compiler-diary.example/inittrace",
    "Measuring package initialisation",
    INITTRACE,
    "The trace shows at once which package is to blame. In most programs it is a single one.",
)
BLOCKED_TALK = "https://paywalled-times.example/go-start-up-talk"


def go_astray(tables: Tables, rng: random.Random, day: Callable[[float], datetime], now: datetime) -> None:
    """A query in the wrong words brings in the board game; a fork from before that query does better."""
    run = SeededRun(tables, GO, FLASH, day(3.2), rng)
    talk = replace(JOSEKI, url=BLOCKED_TALK, title="Talk: Go programs that start in no time")
    run.turn(
        "I look for what a Go program does when it starts.", search("Go program startup time", STARTUP, BINARY, talk)
    )
    run.turn("I read the three best results.", read(STARTUP), read(BINARY), failed_read(BLOCKED_TALK, "403"))
    run.turn("The phase before main may be called the opening.", search("fast openings in Go", OPENINGS, JOSEKI))
    run.fail("server")
    run.turn("The first result is about fast openings.", read(OPENINGS))
    run.done()
    claims = [
        run.claim(
            "A large Go program spends most of its start-up time in init functions that build maps.", STARTUP, INIT_TIME
        ),
        run.claim(
            "A service that built its tables on first use started in 9 instead of 140 milliseconds.", STARTUP, LAZY
        ),
        run.claim("Fast Go openings take the corners first and leave the centre for last.", OPENINGS, CORNERS),
        run.claim(
            "Stripping the symbols makes a Go program start 28 percent faster.",
            BINARY,
            STRIPPED,
            code="part",
            detail="symbols",
            score=0.62,
        ),
    ]
    run.write(claims)
    run.finish("complete", "done", claims)
    run.close()

    fork = SeededRun(tables, GO, FLASH, day(3.4), rng, edition=2)
    fork.share(run, step=2)
    fork.turn(
        "What is missing is how to measure the phase before main.",
        search("Go init functions cost inittrace", TRACE, STARTUP),
    )
    fork.turn("I read the page about the trace.", read(TRACE))
    fork.done()
    claims = [
        fork.claim(
            "A large Go program spends most of its start-up time in init functions that build maps.", STARTUP, INIT_TIME
        ),
        fork.claim(
            "A service that built its tables on first use started in 9 instead of 140 milliseconds.", STARTUP, LAZY
        ),
        fork.claim(
            "With GODEBUG=inittrace=1 a Go program prints how long each package takes to initialise.", TRACE, INITTRACE
        ),
    ]
    fork.write(claims)
    fork.finish("complete", "done", claims)
    fork.close()


COP = "At minus 15 degrees the tested heat pumps still gave 2.1 units of heat for each unit of electricity."
OLD_HOUSES = "In houses without new windows one heat pump in five needed its electric heater in January."
SURVEY = "Of 1,240 owners in Finland, 91 percent would buy a heat pump again."
FIELD_TEST = _page(
    "https://openjournal.example/heat-pumps-field-test",
    "A field test of 58 heat pumps in three winters",
    f"The test ran from 2022 to 2025 in 58 houses. {COP}",
    OLD_HOUSES,
)
OWNERS = _page("https://stat-office.example/heating/owners", "Owners of heat pumps, a survey", SURVEY)


def heat_pumps(tables: Tables, rng: random.Random, day: Callable[[float], datetime], now: datetime) -> None:
    """Killed twice: once between two calls of a turn, once before the brief; each start goes on where it was."""
    run = SeededRun(tables, HEAT, GPT, day(2.5), rng)
    run.turn(
        "First the measurements.", search("heat pump efficiency below zero field test", FIELD_TEST, OWNERS, BINARY)
    )
    run.fail("timeout")
    run.think("I read both.", read(FIELD_TEST), read(OWNERS))
    run.carry_out(0, 1)
    run.start(after=timedelta(minutes=11))
    run.carry_out(1)
    run.digest()
    run.turn("Now the doubts.", search("heat pump old house January problems", FIELD_TEST))
    run.turn("Once more, for old houses.", read(FIELD_TEST, focus="old houses"))
    run.start(after=timedelta(hours=1), model=PRO)
    run.fail("bad_call")
    run.done()
    claims = [
        run.claim(
            "At minus 15 degrees tested heat pumps still gave 2.1 units of heat for each unit of electricity.",
            FIELD_TEST,
            COP,
        ),
        run.claim("Of 1,240 owners in Finland, 91 percent would buy one again.", OWNERS, SURVEY),
        run.claim(
            "In old houses every heat pump needs an electric heater.",
            FIELD_TEST,
            OLD_HOUSES,
            code="part",
            detail="without new windows",
            score=0.44,
        ),
    ]
    run.write(claims)
    claims[2] = run.claim(
        "Without new windows one heat pump in five needed its electric heater in January.", FIELD_TEST, OLD_HOUSES
    )
    run.write(claims, "repair")
    run.finish("complete", "done", claims)
    run.close()


def _auction(price: int) -> tuple[Page, str]:
    result = f"The last auction closed at {price} euros per megawatt hour."
    text = f"{result} Six bidders took part."
    return _page("https://auction-watch.example/offshore", "Results of the offshore auctions", text), result


TURBINES = "A turbine of 15 megawatts needs a tower of 150 metres."
TURBINE_PAGE = _page("https://openjournal.example/turbines", "How large turbines became", TURBINES)


def offshore_wind(tables: Tables, rng: random.Random, day: Callable[[float], datetime], now: datetime) -> None:
    """The same topic again after weeks: one of its pages says something else by now."""
    for edition, began, price in ((1, 40.3, 66), (2, 4.3, 58)):
        results, sentence = _auction(price)
        run = SeededRun(tables, WIND, HAIKU, day(began), rng, edition=edition)
        run.turn("I look for auction results.", search("offshore wind auction result price", results, TURBINE_PAGE))
        run.turn("I read both.", read(results), read(TURBINE_PAGE))
        run.done()
        claims = [
            run.claim(f"The last offshore auction closed at {price} euros per megawatt hour.", results, sentence),
            run.claim("A 15 megawatt turbine needs a tower of 150 metres.", TURBINE_PAGE, TURBINES),
        ]
        run.write(claims)
        run.finish("complete", "done", claims)
        run.close()


def unfinished(tables: Tables, rng: random.Random, day: Callable[[float], datetime], now: datetime) -> None:
    """One run is under way, one waits for a person, one was killed."""
    run = SeededRun(tables, "Which seaweeds can be farmed in the Baltic Sea?", FLASH, day(0), rng)
    run.turn("I look for salinity first.", search("seaweed farming low salinity Baltic", TURBINE_PAGE, OWNERS))
    run.think("I read both.", read(TURBINE_PAGE), read(OWNERS))
    run.carry_out(0, 1)
    run.close(held_until=now + timedelta(days=30))

    run = SeededRun(tables, "What is known about Mercury?", FLASH, day(1.3), rng)
    question = "Do you mean the planet or the metal?"
    run.think("The topic can be understood in two ways.", ask(question))
    run.close(waiting_for=[question])

    run = SeededRun(tables, "How are old fishing nets recycled?", GPT, day(5.3), rng)
    run.turn("I look for recycling plants.", search("fishing nets recycling plant", OWNERS, TURBINE_PAGE))
    run.turn("I read the first.", read(OWNERS))
    run.fail("connection")
    run.close()


def badly_ended(tables: Tables, rng: random.Random, day: Callable[[float], datetime], now: datetime) -> None:
    """No source could be reached; every page was refused; the money was used up."""
    run = SeededRun(tables, "Where do storks spend the winter?", FLASH, day(12.3), rng)
    for words in ("storks winter migration", "stork wintering grounds"):
        run.turn("I search.", failed_search(words))
    run.done()
    run.finish("failed", "sources_failed")
    run.close()

    run = SeededRun(tables, "Which newspapers raised their price this year?", HAIKU, day(20.3), rng)
    offers = [
        replace(JOSEKI, url=f"https://paywalled-times.example/prices/{n}", title=f"Prices, part {n}") for n in (1, 2)
    ]
    run.turn("I search.", search("newspaper price increase", *offers))
    kinds = ("403", "not_evidence")
    for n, (offer, kind) in enumerate(zip(offers, kinds, strict=True), start=1):
        run.turn(f"I try part {n}.", failed_read(offer.url, kind))
    run.finish("no_evidence", "stagnant")
    run.close(pruned_at=day(2.3))

    run = SeededRun(tables, "How fast do glaciers in Norway shrink?", PRO, day(11.3), rng, limits=Limits(max_usd=0.03))
    run.turn("I look for measurements.", search("Norway glaciers length change", FIELD_TEST, TURBINE_PAGE))
    run.think("I read both.", read(FIELD_TEST), read(TURBINE_PAGE))
    run.carry_out()
    run.digest(stop_reason="max_usd")
    claims = [run.claim("A 15 megawatt turbine needs a tower of 150 metres.", TURBINE_PAGE, TURBINES)]
    run.finish("partial", "max_usd", claims, writer="extractive")
    run.close()


def own_documents(tables: Tables, rng: random.Random, day: Callable[[float], datetime], now: datetime) -> None:
    """A folder of documents, and the built-in model."""
    folder = "/home/ann/notes"
    sentence = "A ReAct agent that gets an error as an observation can choose another way."
    note = replace(
        _page(f"file://{folder}/tool-errors.md", "Tool errors as observations", sentence, published=""),
        kind="document",
        media_type="text/markdown",
    )
    run = SeededRun(tables, "How do ReAct agents fail?", "extractive", day(30.3), rng, corpus=folder)
    run.turn("", search("How do ReAct agents fail?", note, provider="corpus", milliseconds=7))
    run.turn("", read(note, milliseconds=6))
    run.done("")
    claims = [run.claim(sentence, note, sentence)]
    run.write(claims)
    run.finish("complete", "done", claims)
    run.close()


STORIES = (go_astray, heat_pumps, offshore_wind, unfinished, badly_ended, own_documents)
