"""A keychain of the tests, in the place of the machine's."""

from __future__ import annotations

import pytest


class Ring:
    """Keeps what it is given, and counts how often it was asked; ``works``: whether its bus is there."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.works, self.asked = True, 0

    def get_keyring(self) -> object:
        return self

    def _check(self) -> None:
        if not self.works:
            raise RuntimeError("the bus is not there")

    def set_password(self, service: str, name: str, password: str) -> None:
        self._check()
        self.kept[service, name] = password

    def get_password(self, service: str, name: str) -> str | None:
        self._check()
        self.asked += 1
        return self.kept.get((service, name))

    def delete_password(self, service: str, name: str) -> None:
        self._check()
        del self.kept[service, name]


def ring_in_place(monkeypatch: pytest.MonkeyPatch) -> Ring:
    made = Ring()
    for name in ("get_keyring", "set_password", "get_password", "delete_password"):
        monkeypatch.setattr(f"keyring.{name}", getattr(made, name))
    return made
