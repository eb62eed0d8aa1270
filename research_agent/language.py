"""A guess at the language of a few words: good enough to pick an encyclopedia, which falls back to English."""

from __future__ import annotations

import re

# First match wins, so what only one language writes stands before the script that it shares.
_SCRIPTS = tuple(
    (language, re.compile(f"[{letters}]"))
    for language, letters in (
        ("ja", "\u3040-\u30ff"),
        ("ko", "\uac00-\ud7af\u1100-\u11ff"),
        ("zh", "\u3400-\u4dbf\u4e00-\u9fff"),
        ("uk", "ґєії"),
        ("ru", "\u0400-\u04ff"),
        ("fa", "پچژگ"),
        ("ar", "\u0600-\u06ff"),
        ("he", "\u0590-\u05ff"),
        ("el", "\u0370-\u03ff\u1f00-\u1fff"),
        ("th", "\u0e00-\u0e7f"),
        ("hi", "\u0900-\u097f"),
        ("bn", "\u0980-\u09ff"),
        ("ta", "\u0b80-\u0bff"),
        ("te", "\u0c00-\u0c7f"),
        ("ka", "\u10a0-\u10ff"),
        ("hy", "\u0530-\u058f"),
        ("vi", "ơưđăạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ"),
        ("tr", "ğış"),
        ("ro", "șțăşţ"),
        ("cs", "řěů"),
        ("pl", "ąęłńśźż"),
        ("hu", "őű"),
        ("pt", "ãõ"),
        ("es", "ñ¿¡"),
        ("de", "ß"),
    )
)
_FUNCTION_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the of and in for to is are what how why with on from by",
        "de": "der die das und von im für mit den dem des ein eine wie warum zur zum über",
        "fr": "de le la les des du et en dans pour sur une au aux comment pourquoi est",
        "es": "el la los las de del y en para por una con cómo qué",
        "it": "il lo gli della delle dei di e nel nella per con una come perché",
        "pt": "o os as da do das dos e em para uma com como no na",
        "nl": "de het een van en voor met op in hoe waarom",
        "pl": "na do jak w dlaczego oraz",
        "sv": "och av för med den det ett en hur varför",
        "id": "yang dan di dari untuk dengan pada bagaimana mengapa",
    }.items()
}


def guess_language(text: str) -> str:
    """ISO 639-1 code of the language `text` is probably written in; ``en`` when nothing tells."""
    folded = text.replace("İ", "ı").casefold()
    words = set(re.findall(r"[^\W\d_]+", folded))
    counts = {language: len(words & known) for language, known in _FUNCTION_WORDS.items()}
    best = max(counts, key=lambda language: counts[language])  # the first of equals: English
    if best == "en" and counts["en"]:  # a foreign name does not make an English question foreign
        return "en"
    for language, letters in _SCRIPTS:
        if letters.search(folded):
            return language
    # One such word may be part of a name, as in Los Angeles.
    return best if counts[best] > folded.isascii() else "en"
