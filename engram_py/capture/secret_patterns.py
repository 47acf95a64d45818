"""The shapes credentials have: known prefixes, and the few kinds that can be told without one."""

from __future__ import annotations

import os.path
import re
from functools import cache

WORD = r"[A-Za-z0-9_-]"
EDGE = r"(?a)(?:(?<!\w)|(?<=\\[nrt]))"  # `\n` stands before a token inside escaped text

# (kind, prefixes, what follows the prefix). Lengths are a little below the documented ones: a token that somebody
# shortened is still mostly there. A group named `secret` is the part to replace, else it is everything.
# Public halves (Stripe pk_, Mailgun pubkey-, AWS account ids) are on purpose not here.
PREFIXED: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("aws_access_key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    ("aws_bedrock_key", ("ABSK",), r"[A-Za-z0-9+/]{60,}+={0,2}"),
    ("github_token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9_]{20,}+(?:\.[A-Za-z0-9_-]{8,}+)*+"),
    ("github_token", ("github_pat_",), r"[A-Za-z0-9_]{20,}+"),
    (
        "gitlab_token",
        ("glpat-", "gldt-", "glft-", "glffct-", "glsoat-", "glrt-", "glrtr-", "glcbt-", "glimt-", "glptt-"),
        rf"{WORD}{{18,}}+(?:\.{WORD}{{7,}}+)*+",
    ),
    ("gitlab_token", ("glagent-", "gloas-", "glwt-", "GR1348941"), rf"{WORD}{{18,}}+"),
    ("slack_token", ("xox",), rf"[a-z](?:\.xox[a-z])?-(?:[A-Za-z0-9%-]){{10,}}+(?<={WORD})"),
    ("slack_token", ("xapp-",), r"[0-9]-[A-Za-z0-9-]{10,}+"),
    ("slack_webhook", ("hooks.slack.com/",), r"(?:services|workflows|triggers)/(?P<secret>[\w/+-]{20,}+)"),
    ("discord_webhook", ("discord.com/api/", "discordapp.com/api/"), r"(?:v\d+/)?webhooks/(?P<secret>\d+/[\w-]{20,}+)"),
    ("teams_webhook", (".webhook.office.com/webhookb2/",), r"(?P<secret>[\w@/-]{40,}+)"),
    ("stripe_key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"), r"[A-Za-z0-9]{10,}+"),
    ("stripe_webhook_secret", ("whsec_",), r"[A-Za-z0-9+/=]{16,}+"),
    ("google_api_key", ("AIza",), r"[\w-]{35}(?![\w-])"),
    ("google_oauth_secret", ("GOCSPX-",), r"[\w-]{20,}+"),
    ("google_oauth_token", ("ya29.",), r"[\w.-]{20,}+"),
    ("google_oauth_token", ("1//0",), r"[\w-]{30,}+"),
    ("npm_token", ("npm_",), r"[A-Za-z0-9]{30,}+"),
    ("pypi_token", ("pypi-AgE",), r"[\w-]{30,}+"),
    ("rubygems_key", ("rubygems_",), r"[a-f0-9]{40,}+"),
    ("sendgrid_key", ("SG.",), r"[\w-]{16,32}\.[\w-]{32,64}(?![\w-])"),
    ("huggingface_token", ("hf_", "api_org_"), r"[A-Za-z0-9]{30,}+"),
    ("digitalocean_token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[a-f0-9]{40,}+"),
    ("shopify_token", ("shpat_", "shpca_", "shppa_", "shpss_", "shpua_"), r"[A-Fa-f0-9]{24,}+"),
    ("databricks_token", ("dapi",), r"[a-f0-9]{32}(?:-\d)?(?![\w-])"),
    ("vault_token", ("hvs.", "hvb.", "hvr."), r"[\w-]{20,}+"),
    ("grafana_token", ("glsa_",), r"\w{20,}+"),
    ("grafana_token", ("glc_",), r"[A-Za-z0-9+/]{20,}+={0,2}"),
    ("linear_key", ("lin_api_", "lin_oauth_"), r"[A-Za-z0-9]{24,}+"),
    ("notion_token", ("ntn_",), r"[A-Za-z0-9]{30,}+"),
    ("notion_token", ("secret_",), r"[A-Za-z0-9]{43}(?!\w)"),
    ("figma_token", ("figd_", "figu_", "figo_"), r"[\w-]{20,}+"),
    ("doppler_token", ("dp.",), r"(?:pt|st|ct|sa|said|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{30,}+"),
    ("planetscale_token", ("pscale_tkn_", "pscale_oauth_", "pscale_pw_"), r"[\w=.-]{24,}+"),
    ("supabase_key", ("sbp_", "sb_secret_"), r"[A-Za-z0-9_-]{20,}+"),
    ("sentry_token", ("sntrys_", "sntryu_"), r"[A-Za-z0-9+/=_-]{24,}+"),
    ("mailgun_key", ("key-",), r"[a-f0-9]{32}(?!\w)"),
    ("age_key", ("AGE-SECRET-KEY-1",), r"[A-Z0-9]{30,}+"),
    ("square_token", ("sq0atp-", "sq0csp-"), r"[\w-]{20,}+"),
    ("facebook_token", ("EAAC", "EAAM", "EAAA"), r"[A-Za-z0-9_-]{50,}+"),
    ("newrelic_key", ("NRAK-", "NRII-"), r"[A-Za-z0-9-]{20,}+"),
    ("postman_key", ("PMAK-",), r"[a-f0-9]{20,}+-[a-f0-9]{30,}+"),
    ("pulumi_token", ("pul-",), r"[a-f0-9]{40}(?!\w)"),
    ("perplexity_key", ("pplx-",), r"[A-Za-z0-9]{32,}+"),
    ("groq_key", ("gsk_",), r"[A-Za-z0-9]{32,}+"),
    ("xai_key", ("xai-",), r"[A-Za-z0-9]{40,}+"),
    ("replicate_token", ("r8_",), r"[A-Za-z0-9]{32,}+"),
    ("fly_token", ("fo1_",), r"[\w-]{40,}+"),
    ("fly_token", ("fm1a_", "fm1r_", "fm2_"), r"[\w+/-]{40,}+={0,3}"),
    ("heroku_key", ("HRKU-",), r"[\w-]{30,}+"),
    ("atlassian_token", ("ATATT3", "ATCTT3", "ATBB"), r"[\w=-]{24,}+"),
    ("brevo_key", ("xkeysib-", "xsmtpsib-"), r"[a-f0-9]{40,}+-[A-Za-z0-9]{10,}+"),
    ("onepassword_token", ("ops_eyJ",), r"[A-Za-z0-9+/_-]{60,}+={0,3}"),
    ("docker_token", ("dckr_pat_", "dckr_oat_"), r"[\w-]{20,}+"),
    ("tailscale_key", ("tskey-",), r"[A-Za-z0-9-]{16,}+"),
    ("netlify_token", ("nfp_",), r"[A-Za-z0-9]{30,}+"),
    ("sonar_token", ("squ_", "sqp_", "sqa_"), r"[a-f0-9]{40}(?!\w)"),
    ("circleci_token", ("CCIPAT_",), r"\w{30,}+"),
    ("alibaba_access_key", ("LTAI",), r"[A-Za-z0-9]{16,24}(?![A-Za-z0-9])"),
    ("airtable_token", ("pat",), r"[A-Za-z0-9]{14}\.[a-f0-9]{64}(?!\w)"),
)

# The same by what all prefixes of a row begin with: one search rules a family out.
FAMILIES = tuple(
    (os.path.commonprefix(prefixes), kind, prefixes, body)  # noqa: RUF071 (characters are what is wanted)
    for kind, prefixes, body in PREFIXED
)

# `sk-` begins OpenAI's keys, those of many who copied it, and CSS classes; what follows tells them apart.
SK_KINDS = {
    "sk-ant-": "anthropic_key",
    "sk-or-": "openrouter_key",
    "sk-proj-": "openai_key",
    "sk-svcacct-": "openai_key",
}
SK_BODY = r"[A-Za-z0-9_-]{16,}+"

# Every JWT and JWE starts with base64 of `{"`; a JWE has five parts, of which only the first is JSON.
JWT_BODY = rf"{WORD}{{8,}}+\.(?:eyJ{WORD}{{8,}}+(?:\.{WORD}*+)?|{WORD}*+\.{WORD}{{8,}}+\.{WORD}{{16,}}+\.{WORD}{{8,}}+)"

# A literal that must occur before the expression is worth running, and the expression.
FLOATING: tuple[tuple[str, str, str], ...] = (
    ("telegram_token", ":AA", EDGE + r"(?<!:)\d{8,10}:AA[\w-]{30,35}(?![\w-])"),
    ("mailchimp_key", "-us", EDGE + r"[0-9a-f]{32}-us\d{1,2}(?!\w)"),
    ("terraform_token", ".atlasv1.", EDGE + r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}+"),
    ("azure_sas", "sig=", r"(?a)[?&]sig=(?P<secret>[A-Za-z0-9%/+=]{24,}+)"),
    # The first part is base64 of decimal digits, so its first two characters are few. The expression starts with
    # a set so that `re` skips to it quickly; the look behind comes second.
    (
        "discord_token",
        ".",
        r"(?a)[MNO](?:(?<![\w.-].)|(?<=\\[nrt].))[DTjz][\w-]{21,26}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])",
    ),
)


# Everything above lies in a run of these characters, and the shortest has this many.
RUN_LENGTH = 16
_RUN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+=%:~@?&\\")
_TO_RUNS = bytes(byte if byte in _RUN else 0x20 for byte in range(256))


def long_runs(text: str) -> str:
    """Return the long words of ``text``, a line each: all that the expressions above need to look at.

    Ordinary text has few, so a hundred searches in them cost less than one in the text.
    """
    words = text.encode("utf-8", "replace").translate(_TO_RUNS).decode("ascii").split()
    return "\n".join([word for word in words if len(word) >= RUN_LENGTH])


@cache
def prefixed(prefix: str, body: str, before: str = "A-Za-z0-9") -> re.Pattern[str]:
    r"""``prefix`` and ``body``; a prefix that words may end in counts only at the start of a word.

    The look-behinds follow the prefix, because `re` searches fast only for an expression that starts with a
    literal. ``\n`` and ``%3D`` are what stands before a token inside escaped text.
    """
    literal = re.escape(prefix)
    if len(prefix) >= 6 or (len(prefix) >= 4 and prefix.endswith("_")):
        return re.compile(literal + body, re.ASCII)
    start = rf"(?:(?<![{before}]{literal})|(?<=\\[nrt]{literal})|(?<=%[0-9A-Fa-f]{{2}}{literal}))"
    return re.compile(literal + start + body, re.ASCII)
