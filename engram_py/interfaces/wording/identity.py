"""The words of what is known of the person."""

from __future__ import annotations

from datetime import datetime

from engram_py.doors import call
from engram_py.identity.values import Profile, Statement
from engram_py.interfaces.wording.phrases import Words, age


def _statement(value: Statement, now: datetime) -> str:
    where = f", in {value.project} alone" if value.scope == "project" else ""
    learned = ", derived" if value.origin == "derived" else ""
    return f"[#{value.id}] {value.text} ({age(value.said_at, now)}{where}{learned})"


def _profile(value: Profile, now: datetime) -> str:
    if value.id is None:
        if value.scope == "project":
            return f"No profile of the user in {value.project or 'no project'}; {call('profile')} writes one."
        return f"No profile of the user yet; {call('profile')} writes one, and upkeep does from what is known."
    where = f"in {value.project}, " if value.scope == "project" else ""
    return f"[#{value.id}] ({where}{value.origin}, {age(value.written_at, now)})\n{value.text}"


WORDS: Words = {Statement: _statement, Profile: _profile}
