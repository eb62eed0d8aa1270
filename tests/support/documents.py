"""Small documents of our own for tests."""

from __future__ import annotations

from pathlib import Path

DOCUMENTS = {
    "tides.md": """# Tides

The moon causes most of the tide, because its gravity pulls the near side of the sea harder than the far side.
The sun adds a smaller tide of its own, about 46 percent of the tide of the moon.

Spring tides happen when sun and moon pull in one line. Neap tides happen when they stand at right angles.
""",
    "power.md": """# Tidal power

A tidal power station at La Rance in France has produced electricity from the tide since 1966.
Tidal power does not depend on the weather, which makes the output of a tidal station easy to predict.

The cost of tidal power is higher than the cost of wind power, since few sites have a tide above 7 metres.
""",
    "harbour.md": """# Harbours and the tide

A harbour with a large tide needs locks, so that ships stay afloat when the water falls.
Liverpool built the first enclosed commercial wet dock in 1715 because of its tide of up to 10 metres.
""",
    "shore.md": """# Life on the shore

Limpets hold on to rocks while the tide is out and feed when the tide returns.
Wading birds follow the falling tide and eat worms that live in the wet sand.
""",
    "mills.txt": """Tide mills

A tide mill stores the water of the rising tide behind a gate and grinds corn while the tide falls.
The oldest tide mill that is known stood at Nendrum in Ireland and was built in the year 619.
""",
    "bread.md": "# Bread\n\nBread rises because yeast turns sugar into gas. Salt slows the yeast down.\n",
}

TOPIC = "How is the tide used for power, and what causes the tide?"


def write_corpus(folder: Path) -> Path:
    """The documents as files in `folder`."""
    folder.mkdir(parents=True)
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder
