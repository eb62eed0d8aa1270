"""Pages that came with status 200 and are not what was asked for: nothing in them is evidence.

A long text is never taken for one of these: articles about captchas and cookies exist. What is short is judged by
its title, its words and its markup.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_LONG = 2500  # characters of text; longer pages are what they seem
_SHORT = 900
_WITH_MENU = 1500  # what a page that only says "not found" comes to when its menu is taken for text


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(phrases), re.IGNORECASE | re.DOTALL)


_BLOCK_TITLE = _any(
    "^just a moment", "^attention required", "^one more step", "^pardon our interruption",
    "^request (?:rejected|unsuc)", "^access (?:to this page )?(?:has been )?(?:denied|blocked)",
    "^(?:403:? ?)?forbidden", "^(?:request )?blocked", "you have been blocked", r"\bcaptcha\b", "^robot check",
    "^are you (?:a )?(?:robot|human)", "^client challenge", "^(?:bot|human|security) (?:verification|check)",
    "^(?:checking|verifying) your browser", "^ddos-guard", "^verify (?:that )?you are", r"\| cloudflare$", "^请稍候",
    "安全验证", "验证码", "人机验证",
)  # fmt: skip
_BLOCK_TEXT = _any(
    "you have been blocked", "unusual traffic from your", "press (?:&|and) hold", "solve the captcha",
    "verif(?:y|ying) (?:that )?you(?: are|'re) (?:a |not a )?(?:human|robot|bot)",
    "complete the (?:security check|captcha)",
    "(?:checking|verifying) (?:if the site connection is secure|your browser|you are human)", "cloudflare ray id",
    "enter the characters you see", "automated (?:access|requests|queries)", "incapsula incident",
    "access to this page has been denied",
    "your ip(?: address)? (?:has been|is|was) (?:temporarily )?(?:blocked|banned)",
    "you don'?t have permission to access .{0,200} on this server", "to review the security of your connection",
    "确认您不是机器人", "检测到.{0,20}异常流量", "подтвердите, что вы не робот", "dass sie kein roboter",
    "ロボットではない", "n'êtes pas un robot", "no (?:eres|es usted) un robot",
)  # fmt: skip
_BLOCK_MARKUP = _any(
    "/cdn-cgi/challenge-platform", "cf[-_]chl[-_]", r"challenges\.cloudflare\.com", "_Incapsula_Resource",
    "px-captcha", r"captcha-delivery\.com", "awswaf", "aws-waf-token", "sgcaptcha",
)  # fmt: skip
_CONSENT = _any(
    "cookie", "consent", "your privacy", "privacy (?:policy|settings|choices)", r"our (?:\d+ )?partners", "zustimm",
    "legitimate interest", "accept all", "reject all", "before you continue", "einwilligung", "datenschutz",
    "tracking", "tout accepter", "vie privée", "aceptar todo", "privacidad", "accetta", "同意", "クッキー", "隐私",
)  # fmt: skip
_WALL = _any(
    r"we (?:and our (?:\d+ )?partners )?(?:use|store) .{0,60}cookies", "before you continue",
    "consent to .{0,60}cookies", "(?:accept|agree to|allow) (?:all )?(?:the )?(?:use of )?cookies",
    "manage (?:my |your )?(?:cookies|consent|privacy)", "wir (?:verwenden|nutzen|setzen) .{0,40}cookies",
    "mit werbung (?:und tracking )?weiterlesen", "utilisons des cookies", "cookies? (?:zustimmen|akzeptieren)",
    "(?:usamos|utilizamos) cookies", "utilizziamo (?:i )?cookie", "使用cookie", "クッキーを使用",
)  # fmt: skip
_LOGIN = _any(
    r"\b(?:log|sign)[ -]?(?:in|on)\b", r"\banmeld", r"\beinloggen\b", "se connecter", r"\bconnexion\b",
    "iniciar sesi[oó]n", r"\baccedi\b", r"\bentrar\b", "войти", "登录", "登入", "ログイン", "로그인", "đăng nhập",
)  # fmt: skip
_LOGIN_PATH = re.compile(r"/(?:log-?in|sign-?in|sso|auth|authorize|checkpoint)\b", re.IGNORECASE)
_PASSWORD = re.compile(r"<input\b[^<>]{0,500}?type\s*=\s*[\"']?password", re.IGNORECASE)
_NEEDS_SCRIPT = _any(
    "(?:enable|activate|turn on|requires?|without) java ?script", "need (?:to )?(?:enable )?java ?script",
    "java ?script (?:is |must be )?(?:required|disabled|enabled|not enabled|turned off|to run)", "启用 ?javascript",
    "javascript (?:aktivieren|muss)", "activer javascript", "habilitar? javascript", "включите javascript",
    "javascriptを有効",
)  # fmt: skip
_WAITING = re.compile(r"\W*(?:redirecting|loading|please wait|one moment)\b[^\n]{0,60}", re.IGNORECASE)
_NOSCRIPT = re.compile(r"<noscript\b[^<>]{0,200}>(.{0,500})", re.IGNORECASE | re.DOTALL)
_EMPTY_ROOT = re.compile(
    r"<(?:div|main|section)\b[^<>]{0,200}\bid\s*=\s*[\"']?(?:root|app|__next|__nuxt|main-app|react-root|application)\b"
    r"[^<>]{0,200}>\s*</|<app-root\b[^<>]{0,200}>\s*(?:loading[ .…]*)?</",
    re.IGNORECASE,
)
_NOT_FOUND = _any(
    r"^(?:error )?404\b", "^not found",
    r"\b(?:page|article|document|file|url)s? (?:was |could |can |is )?not (?:be )?found",
    "page (?:doesn.t|does not|no longer) exists?", "(?:page|article) (?:is )?no(?:t| longer) available",
    "^nothing found", "(?:can.?t|cannot|couldn.?t|could not|unable to) find (?:the|that|this) page",
    "seite (?:wurde )?nicht gefunden", "page (?:introuvable|non trouv[ée]e)",
    "p[áa]gina n(?:o|ão) (?:se ha )?encontrada", "pagina non trovata", "pagina niet gevonden", "страница не найдена",
    "页面(?:不存在|未找到)", "找不到(?:该|此)?(?:页面|網頁|网页)", "ページが見つかりません", "페이지를 찾을 수 없",
    "không tìm thấy trang",
)  # fmt: skip
_OUT_OF_SERVICE = _any(
    "^under maintenance", "^(?:site|temporarily|scheduled) (?:maintenance|unavailable|down)", "^maintenance mode",
    "^(?:error )?50[0234]\\b", "^service (?:temporarily )?unavailable", "^internal server error", "^bad gateway",
    "domain (?:name )?(?:is|may be) for sale", "buy this domain", "domain (?:is )?parked",
    "account (?:has been )?suspended", "(?:web)?site (?:is )?under construction",
)  # fmt: skip
_HEADING = re.compile(r"<h[12]\b[^<>]{0,300}>([^<]{1,200})", re.IGNORECASE)


def barrier(html: str, text: str, title: str, url: str) -> str:
    """Why this page is no evidence, as a line for the model; "" when it is a page like others.

    `text` is what was found as its main text, before menus were added to it.
    """
    if len(text) > _LONG:
        return ""
    text, title = text.strip(), " ".join(title.split())
    if what := _block_page(html, text, title):
        return f"it is a block page ({what}): try another source"
    if _is_shell(html, text):
        return "it is built by scripts in a browser and has no text without them: try another source"
    if _is_login(html, text, title, url):
        return "it is a login page: try another source"
    if _is_cookie_wall(text, url):
        return "it is a cookie wall, the page behind it does not show: try another source"
    headings = [title] if len(text) < _WITH_MENU else []
    if len(text) < _SHORT:
        headings += [" ".join(found.split()) for found in _HEADING.findall(html[:300_000])[:3]]
    if any(map(_NOT_FOUND.search, headings)):
        return "the site has no such page, it says so with status 200 (soft 404): try another source"
    if any(map(_OUT_OF_SERVICE.search, headings)):
        return "the site is out of service: try another source"
    return ""


def _block_page(html: str, text: str, title: str) -> str:
    """What gives the page away; "" if it is none."""
    said = _BLOCK_TEXT.search(text)
    named = _BLOCK_TITLE.search(title)
    if named and (said or len(text) < _SHORT):
        return _shown(named[0])
    if said and (len(text) < _SHORT or _BLOCK_MARKUP.search(html)):
        return _shown(said[0])
    scripted = _BLOCK_MARKUP.search(html) if len(text) < 120 else None
    return _shown(scripted[0]) if scripted else ""


def _shown(text: str) -> str:
    return " ".join(text.strip(" |/").lower().split())[:60]


def _is_shell(html: str, text: str) -> bool:
    if len(text) > 300:
        return False
    if _NEEDS_SCRIPT.search(text):
        return True
    if "<script" not in html.lower() or len(text) > 200:
        return False
    if _WAITING.fullmatch(text):
        return True
    says_so = any(map(_NEEDS_SCRIPT.search, _NOSCRIPT.findall(html)[:20]))
    return bool(_EMPTY_ROOT.search(html)) or (says_so and len(text) < 120)


def _is_login(html: str, text: str, title: str, url: str) -> bool:
    if len(text) > _SHORT:
        return False
    by_address, by_title = _LOGIN_PATH.search(urlsplit(url).path), _LOGIN.search(title)
    if not _PASSWORD.search(html):
        return bool(by_address and by_title)
    return bool(by_address or by_title or (len(text) < 250 and _LOGIN.search(text)))


def _is_cookie_wall(text: str, url: str) -> bool:
    """Most of what it says is about consent."""
    if (urlsplit(url).hostname or "").startswith("consent."):
        return True
    if not _WALL.search(text):
        return False
    lines = [line for line in re.split(r"\n|(?<=[.!?。])\s", text) if line.strip()]
    about = sum(len(line) for line in lines if _CONSENT.search(line))
    return about > 0.5 * sum(map(len, lines))
