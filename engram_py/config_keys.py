"""The settings of this machine: the key of each in ``config.json``, its variable, its default, and what it is for."""

from __future__ import annotations

from engram_py.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name in ``config.json`` (empty: variable only), its variable, default, and what it does. The
    value of a ``secret`` one is never shown."""

    key: str
    variable: str
    default: str
    help: str
    secret: bool = False


SETTINGS = (
    Setting("", "ENGRAM_DATA_DIR", "the platform's data directory", "Where `engram.db` lives; an absolute path."),
    Setting("project", "ENGRAM_PROJECT", "", "The project of every call that names none; `--project` wins over it."),
    Setting("tools", "ENGRAM_TOOLS", "core", "Tools the MCP server offers: core, agent, admin, all, or names."),
    Setting("log_level", "ENGRAM_LOG_LEVEL", "error", "What is logged to stderr: debug, info, warning or error."),
    Setting("fact_rules", "ENGRAM_FACT_RULES", "", "A JSON file with more anchors and patterns for facts."),
    Setting(
        "recency_half_life_days",
        "ENGRAM_RECENCY_HALF_LIFE_DAYS",
        "30",
        "Days after which a memory's recency is half of what it was, 1 to 365.",
    ),
    Setting("gate", "ENGRAM_GATE", "heuristic", "Which prompts get memory unasked: heuristic, or off (all of them)."),
    Setting(
        "hook_pretool",
        "ENGRAM_HOOK_PRETOOL",
        "off",
        "Give an agent the memories of a file before it edits it (hook `pre-tool`): on or off.",
    ),
    Setting(
        "hook_nudge",
        "ENGRAM_HOOK_NUDGE",
        "on",
        "Remind an agent once a session that files changed and nothing was saved (hook `stop`): on or off.",
    ),
    Setting("documents", "ENGRAM_DOCUMENTS", "on", "Index git history and docs unasked: on or off."),
    Setting("enabled", "ENGRAM_ENABLED", "on", "Let hooks do anything at all: on or off."),
    Setting("record", "ENGRAM_RECORD", "on", "Let hooks keep prompts, messages and learnings: on or off."),
    Setting("inject", "ENGRAM_INJECT", "on", "Let hooks give memory to the agent: on or off."),
    Setting(
        "turn_retention_days", "ENGRAM_TURN_RETENTION_DAYS", "30", "How long raw messages are kept; 0: not at all."
    ),
    Setting(
        "distill",
        "ENGRAM_DISTILL",
        "auto",
        "Summarize sessions that left no summary: auto, manual (`engram flush` alone) or off.",
    ),
    Setting("distill_idle_seconds", "ENGRAM_DISTILL_IDLE_SECONDS", "60", "How long nothing is said before that."),
    Setting(
        "distill_command",
        "ENGRAM_DISTILL_COMMAND",
        "",
        "A program that writes these summaries, JSON in and JSON out; without one no model is asked.",
    ),
    Setting("distill_url", "ENGRAM_DISTILL_URL", "", "An OpenAI-compatible endpoint that writes them."),
    Setting("distill_model", "ENGRAM_DISTILL_MODEL", "", "The name of its model."),
    Setting("distill_key_variable", "ENGRAM_DISTILL_KEY_VARIABLE", "", "Name of the variable that holds its API key."),
    Setting("distill_timeout", "ENGRAM_DISTILL_TIMEOUT", "120", "Seconds that the program or the endpoint may take."),
    Setting("distill_daily_tokens", "ENGRAM_DISTILL_DAILY_TOKENS", "0", "Tokens a day after which no model is asked."),
    Setting("consolidate_hours", "ENGRAM_CONSOLIDATE_HOURS", "24", "How often what was derived and is not used fades."),
    Setting(
        "episode_retention_days",
        "ENGRAM_EPISODE_RETENTION_DAYS",
        "365",
        "When derived summaries of sessions are archived; 0: never.",
    ),
    Setting("timezone", "ENGRAM_TIMEZONE", "the system's", "IANA name of the zone the command line shows times in."),
    Setting("embedder", "ENGRAM_EMBEDDER", "", "What makes vectors; `engram vectors on` sets it."),
    Setting(
        "embedder_key_variable",
        "ENGRAM_EMBEDDER_KEY_VARIABLE",
        "",
        "Name of the variable that holds the endpoint's API key.",
    ),
    Setting(
        "sync_prompts",
        "ENGRAM_SYNC_PROMPTS",
        "off",
        "Let the prompts you type leave this machine, by `engram sync` and to the team's server: on or off.",
    ),
    Setting("cloud_server", "ENGRAM_CLOUD_SERVER", "", "Address of the team's server; `engram cloud login` keeps it."),
    Setting("cloud_autosync", "ENGRAM_CLOUD_AUTOSYNC", "on", "Sync in the background once logged in: on or off."),
    Setting(
        "",
        "ENGRAM_CLOUD_TOKEN",
        "",
        "Token for that server, instead of the one `engram cloud login` keeps.",
        secret=True,
    ),
    Setting("", "ENGRAM_PORT", "7437", "The port of `engram serve`."),
    Setting("", "ENGRAM_SOCKET", "", "A unix socket that `engram serve` listens on instead of a port."),
    Setting(
        "",
        "ENGRAM_HTTP_TOKEN",
        "",
        "A token of your own for `engram serve`. Every request must then show it, or that of `http.token`.",
        secret=True,
    ),
    Setting(
        "http_open",
        "ENGRAM_HTTP_OPEN",
        "off",
        "Answer Engram's plugins without a secret, and so every account of this machine: on or off.",
    ),
    Setting(
        "",
        "ENGRAM_SYNC_PASSPHRASE",
        "",
        "Passphrase of an encrypted `.engram` folder, so that nobody is asked.",
        secret=True,
    ),
    Setting(
        "",
        "ENGRAM_DATABASE_URL",
        "",
        "PostgreSQL database of `engram cloud serve` and of what looks after it.",
        secret=True,
    ),
    Setting("", "ENGRAM_CLOUD_HOST", "127.0.0.1", "Where `engram cloud serve` listens."),
    Setting("", "ENGRAM_CLOUD_PORT", "8080", "The port of `engram cloud serve`."),
    Setting(
        "",
        "ENGRAM_CLOUD_ADMIN",
        "",
        "Token of an admin account that the team's server has from its environment.",
        secret=True,
    ),
    Setting(
        "",
        "ENGRAM_CLOUD_ALLOWED_PROJECTS",
        "",
        "For the team's server: projects that `ENGRAM_CLOUD_TOKEN`, set there, may read and write; a list, or `*`.",
    ),
    Setting(
        "",
        "ENGRAM_CLOUD_TOKEN_PEPPER",
        "",
        "A secret in the hashes of the server's tokens; changing it ends all.",
        secret=True,
    ),
    Setting("", "ENGRAM_CLOUD_MAX_PUSH_BYTES", "8388608", "The largest body the team's server takes, unpacked."),
    Setting("", "ENGRAM_CLOUD_AUDIT_DAYS", "365", "How long the team's server keeps its audit log."),
    Setting("", "ENGRAM_NOW", "", "A fixed time (RFC 3339) instead of the clock; for tests of what depends on dates."),
)
