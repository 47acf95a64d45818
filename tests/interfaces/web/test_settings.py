"""Settings: what holds and who said so, without a secret; which agents are connected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.settings import load_settings
from engram_py.interfaces.http.application import build_application
from engram_py.interfaces.setup.agents import AGENTS, Parts
from engram_py.interfaces.setup.installing import setup_here
from engram_py.interfaces.web.access import Access
from tests.interfaces.http.asking import HOST, PORT, Asker
from tests.interfaces.web.visiting import Form, Seen, Visitor

TOKEN = "correct-" + "horse9-" + "Battery"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without agents."""
    made = tmp_path / "home"
    made.mkdir()
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.setenv("USERPROFILE", str(made))
    monkeypatch.setenv("PATH", str(made))
    return made


def seen_by_a_reader(data_dir: Path, folder: Path) -> Seen:
    """The page of settings, as somebody sees it who just came."""
    with Engram(settings=load_settings(data_dir=data_dir), directory=folder) as app:
        visitor = Visitor(Asker(build_application(app, port=PORT)), f"http://{HOST}")
        visitor.look(f"/ui/enter?token={Access(data_dir).link_token()}")
        return visitor.look("/ui/settings")


def field(seen: Seen, name: str) -> Form:
    """The form of a setting; two of them where it stands above the list as well."""
    return next(one for one in seen.page.forms if one.fields.get("setting") == name)


def row(text: str, name: str) -> str:
    """The line of a setting: from its variable on."""
    return text[text.index(name) + len(name) :][:120]


def test_each_setting_says_where_its_value_comes_from(
    home: Path, data_dir: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir.mkdir(parents=True, exist_ok=True)
    (data_dir / "config.json").write_text(json.dumps({"gate": "off", "documents": "off", "log_level": "loud"}))
    monkeypatch.setenv("ENGRAM_DOCUMENTS", "on")
    seen = seen_by_a_reader(data_dir, folder)
    assert field(seen, "gate").fields["to"] == "off"
    assert "config.json" in row(seen.text, "ENGRAM_GATE")
    assert row(seen.text, "ENGRAM_DOCUMENTS").startswith(" on ENGRAM_DOCUMENTS")
    assert field(seen, "log_level").fields["to"] == "error"
    assert "default" in row(seen.text, "ENGRAM_LOG_LEVEL")
    assert "log_level 'loud' was ignored" in seen.text


def test_a_setting_is_kept_and_an_empty_field_is_the_default(home: Path, app: Engram, visitor: Visitor) -> None:
    kept = app.settings.data_dir / "config.json"
    seen = visitor.look("/ui/settings")
    done = visitor.send(field(seen, "hook_pretool"), to="on")
    assert "Saved: hook_pretool is on. Running servers and agents use it after a restart." in done.text
    done = visitor.send(field(done, "turn_retention_days"), to="7")
    assert json.loads(kept.read_text()) == {"hook_pretool": True, "turn_retention_days": 7}
    assert field(done, "turn_retention_days").fields["to"] == "7"
    visitor.send(field(done, "turn_retention_days"), to="")
    assert json.loads(kept.read_text()) == {"hook_pretool": True}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gate", "sometimes"),
        ("turn_retention_days", "many"),
        ("distill_command", "rm"),
        ("http_open", "on"),
        ("x", "1"),
    ],
)
def test_a_form_sets_nothing_else(home: Path, app: Engram, visitor: Visitor, name: str, value: str) -> None:
    refused = visitor.send(field(visitor.look("/ui/settings"), "gate"), setting=name, to=value)
    assert refused.status == 400
    assert not (app.settings.data_dir / "config.json").exists()


def test_a_secret_setting_is_named_and_never_shown(
    home: Path, data_dir: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGRAM_SYNC_PASSPHRASE", TOKEN)
    monkeypatch.setenv("ENGRAM_CLOUD_TOKEN", TOKEN)
    monkeypatch.setenv("ENGRAM_DISTILL_URL", f"https://ada:{TOKEN}@models.example/v1")
    seen = seen_by_a_reader(data_dir, folder)
    assert row(seen.text, "ENGRAM_SYNC_PASSPHRASE").startswith(" set, not shown ENGRAM_SYNC_PASSPHRASE")
    assert TOKEN not in seen.reply.body.decode()


def test_what_is_switched_off_is_said_to_be_off(home: Path, app: Engram, visitor: Visitor) -> None:
    assert "Prompts, messages and learnings on" in visitor.look("/ui/settings").text
    app.save(Draft("Tea", "Second shelf."))
    app.switches.turn(["record"], on=False, project="widgets")
    text = visitor.look("/ui/settings?project=widgets").text
    assert "Prompts, messages and learnings off" in text
    assert "project widgets: record off" in text


def test_a_button_turns_a_switch_in_the_chosen_project(home: Path, app: Engram, visitor: Visitor) -> None:
    app.save(Draft("Tea", "Second shelf."))
    form = next(
        one for one in visitor.look("/ui/settings?project=widgets").page.forms if one.fields.get("switch") == "inject"
    )
    assert "Memories given to agents unasked off" in visitor.send(form).text
    assert not app.switches.allowed("widgets").injects
    assert app.switches.allowed("other").injects
    assert visitor.send(form, switch="nonsense").status == 400


def test_agents_are_shown_with_how_they_are_connected_and_their_last_call(
    home: Path, app: Engram, visitor: Visitor, folder: Path
) -> None:
    (home / ".cursor").mkdir()
    (home / ".gemini").mkdir()
    setup_here(folder, app.settings.data_dir).set_up(AGENTS["cursor"], "user", Parts())
    with Engram(settings=app.settings, directory=folder, agent="cursor", session_mode="manual") as other:
        other.sessions.start("s1", project="widgets")
    text = visitor.look("/ui/settings").text
    assert "Cursor user 1" in text
    assert "Gemini CLI installed, not set up 0 never Set up" in text
    assert "Windsurf" not in text


def test_a_button_sets_an_agent_up_and_takes_it_out_again(home: Path, visitor: Visitor) -> None:
    (home / ".gemini").mkdir()
    file = home / ".gemini" / "settings.json"
    file.write_text("{}")
    done = visitor.press(visitor.look("/ui/settings"), "Set up")
    assert "Gemini CLI is set up. Restart it" in done.text
    assert "engram" in file.read_text()
    assert "Engram was removed from Gemini CLI" in visitor.press(done, "Take out").text
    assert file.read_text() == "{}"


def test_a_machine_without_agents_says_so(home: Path, visitor: Visitor) -> None:
    assert "No agent was found" in visitor.look("/ui/settings").text
