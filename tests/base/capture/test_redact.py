"""No secret passes, and ordinary notes do."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_py.base.capture.redact import redact

# Built from pieces, so that no scanner takes this file for a leak.
MIXED = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ0cD2fG4hJ6kL8nP"
HEX = "3f786850e387550fdab836ed7e6dc880de23001b" * 2
KEY = "PRIV" + "ATE KEY"

TOKENS = [
    ("aws_access_key", "AK" + "IA" + "Q3EGWN7XLD2MTBPA"),
    ("github_token", "gh" + "p_" + MIXED[:36]),
    ("github_token", "git" + "hub_pat_" + MIXED),
    ("gitlab_token", "gl" + "pat-" + MIXED[:20]),
    ("slack_token", "xo" + "xb-123456789012-1234567890123-" + MIXED[:24]),
    ("slack_token", "xa" + "pp-1-A012345-123456789-" + HEX[:30]),
    ("stripe_key", "sk" + "_live_" + MIXED[:24]),
    ("stripe_webhook_secret", "wh" + "sec_" + MIXED[:32]),
    ("openai_key", "sk" + "-" + MIXED),
    ("openai_key", "sk" + "-proj-" + MIXED),
    ("anthropic_key", "sk" + "-ant-api03-" + MIXED),
    ("google_api_key", "AI" + "za" + MIXED[:35]),
    ("google_oauth_secret", "GOC" + "SPX-" + MIXED[:28]),
    ("google_oauth_token", "ya" + "29." + MIXED),
    ("npm_token", "np" + "m_" + MIXED[:36]),
    ("pypi_token", "py" + "pi-AgEIcHlwaS5vcmc" + MIXED),
    ("sendgrid_key", "S" + "G." + MIXED[:22] + "." + MIXED + "ab"),
    ("discord_token", "M" + "TE5ODYyMjQ4MzQ3MTkyNTI0OA." + "GabcDe." + MIXED[:38]),
    ("telegram_token", "1234567" + "890:AA" + MIXED[:33]),
    ("huggingface_token", "h" + "f_" + MIXED[:34]),
    ("digitalocean_token", "do" + "p_v1_" + HEX[:64]),
    ("shopify_token", "sh" + "pat_" + HEX[:32]),
    ("databricks_token", "da" + "pi" + HEX[:32]),
    ("vault_token", "hv" + "s." + MIXED),
    ("terraform_token", MIXED[:14] + ".atlas" + "v1." + (MIXED * 2)[:64]),
    ("grafana_token", "gl" + "sa_" + MIXED[:32] + "_" + HEX[:8]),
    ("linear_key", "lin" + "_api_" + MIXED),
    ("notion_token", "nt" + "n_" + MIXED),
    ("figma_token", "fi" + "gd_" + MIXED),
    ("doppler_token", "dp" + ".pt." + MIXED + "ab"),
    ("planetscale_token", "pscale" + "_tkn_" + MIXED),
    ("supabase_key", "sb" + "p_" + HEX[:40]),
    ("sentry_token", "sntr" + "ys_" + MIXED),
    ("mailgun_key", "ke" + "y-" + HEX[:32]),
    ("mailchimp_key", HEX[:32] + "-u" + "s12"),
    ("age_key", "AGE-SECRET" + "-KEY-1" + MIXED.upper()),
    ("jwt", "ey" + "J" + MIXED[:20] + ".ey" + "J" + MIXED[:30] + "." + MIXED),
]


@pytest.mark.parametrize(("kind", "token"), [pytest.param(k, t, id=f"{k}-{t[:6]}") for k, t in TOKENS])
def test_a_token_with_a_known_shape_is_replaced_by_its_kind(kind: str, token: str) -> None:
    around = [("we used ", " for the tests"), ('{"value": "', '"}'), (r"first\n", r"\nlast"), ("用", "吧")]
    for before, after in around:
        redacted = redact(before + token + after)
        assert redacted.text == f"{before}[REDACTED:{kind}]{after}"
        assert redacted.kinds == {kind: 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a <private>b</private> c", "a [REDACTED] c", id="plain"),
        pytest.param("a <PRIVATE >b\nb</ private > c", "a [REDACTED] c", id="case-space-lines"),
        pytest.param('a <private reason="x">b</private> c', "a [REDACTED] c", id="attributes"),
        pytest.param("a <private>b<private>c</private>d</private> e", "a [REDACTED] e", id="nested"),
        pytest.param("a <private>b", "a [REDACTED]", id="unclosed"),
        pytest.param("a <private>b<private>c</private> d", "a [REDACTED]", id="unclosed-outer"),
        pytest.param("a </private> b", "a </private> b", id="only-closed"),
        pytest.param("a <privateer> b", "a <privateer> b", id="another-tag"),
        pytest.param("<private>b</private><private>c</private>", "[REDACTED][REDACTED]", id="two"),
    ],
)
def test_a_private_passage_is_replaced_whole(text: str, expected: str) -> None:
    assert redact(text).text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"a -----BEGIN RSA {KEY}-----\nMII\n-----END RSA {KEY}----- b", "a {} b", id="rsa"),
        pytest.param(rf'"-----BEGIN {KEY}-----\nMII\n-----END {KEY}-----\n"', r'"{}\n"', id="in-json"),
        pytest.param(f"a -----BEGIN OPENSSH {KEY}-----\nb3Blb\nb3Blb", "a {}", id="unclosed"),
        pytest.param(f"-----BEGIN PGP {KEY} BLOCK-----\n\nx\n-----END PGP {KEY} BLOCK-----", "{}", id="pgp"),
        pytest.param(f"PuTTY-User-Key-{'File'}-3: ssh\nx\nPrivate-MAC: {HEX}\nz", "{}\nz", id="putty"),
    ],
)
def test_a_private_key_is_replaced_from_its_first_line_to_its_last(text: str, expected: str) -> None:
    assert redact(text).text == expected.replace("{}", "[REDACTED:private_key]")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        pytest.param("postgres://app:{}@db:5432/x", "hunter2", id="postgres"),
        pytest.param("redis://:{}@h:6379", "s3cr3t", id="empty-user"),
        pytest.param("mongodb+srv://u:{}@c.mongodb.net", "p%40ss", id="plus-in-scheme"),
        pytest.param("amqp://g:{}@host", "gu@est", id="at-sign-inside"),
        pytest.param("postgres://g:{}@host/db", "gu/es#t", id="slash-inside"),
        pytest.param("Server=x;User Id=sa;Password={};", "letmein", id="ado"),
        pytest.param("AccountName=x;AccountKey={};", MIXED * 2 + "==", id="azure-storage"),
        pytest.param("Authorization: Bearer {}", MIXED[:24], id="bearer"),
        pytest.param("-H 'Authorization: Basic {}'", "dXNlcjpwYXNzd29yZA==", id="basic"),
        pytest.param("authorization: token {}", HEX[:40], id="token-scheme"),
        pytest.param("curl -u admin:{} https://x", "hunter2", id="curl"),
        pytest.param(
            "https://hooks.slack." + "com/services/{}", "T0123ABCD/B0123ABCD/" + MIXED[:24], id="slack-webhook"
        ),
        pytest.param("https://x.web" + "hook.office.com/webhookb2/{}", MIXED + "@" + MIXED, id="teams-webhook"),
        pytest.param("https://discord." + "com/api/webhooks/{}", "123456789/" + MIXED, id="discord-webhook"),
        pytest.param('password = "{}"', "hunter2", id="code"),
        pytest.param('password: str = "{}"', "hunter2", id="annotated"),
        pytest.param('password := "{}"', "abc123", id="go"),
        pytest.param("'password' => '{}'", "abc123", id="php"),
        pytest.param('"password": "{}"', "correct horse", id="json"),
        pytest.param(r"{{\"password\": \"{}\"}}", "hunter2", id="escaped-json"),
        pytest.param("DB_PASSWORD={}", "correcthorse", id="env"),
        pytest.param("password: {}", "hunter2", id="yaml"),
        pytest.param("**Password:** {}", "hunter2", id="bold"),
        pytest.param("mysql --password={}", "hunter2", id="flag-equals"),
        pytest.param("mysql --password {}", "hunter2", id="flag-space"),
        pytest.param("<password>{}</password>", "hunter2", id="xml"),
        pytest.param("密码：{}", "hunter2", id="chinese"),
        pytest.param('dbPassword: "{}"', "hunter2", id="camel-case"),
        pytest.param('api_key = "{}"', MIXED[:20], id="api-key"),
        pytest.param("X-API-Key: {}", MIXED[:24], id="header"),
        pytest.param('os.environ["API_TOKEN"] = "{}"', MIXED[:30], id="subscript"),
        pytest.param("https://x/?token={}&a=1", MIXED[:20], id="query-string"),
        pytest.param("heroku_api_key={}", "550e8400-e29b-41d4-a716-446655440000", id="uuid-key"),
        pytest.param("aws_secret_access_key = {}", "wJalr" + "XUtnFEMI/K7MDENG/bPxRfiCYzzzzzzKEY", id="aws-secret"),
    ],
)
def test_a_value_in_the_place_of_a_secret_is_hidden_and_nothing_around_it(text: str, secret: str) -> None:
    text = text.replace("{{", "{").replace("}}", "}")
    before, after = text.split("{}")

    redacted = redact(before + secret + after).text

    assert secret not in redacted
    assert redacted.startswith(before + "[REDACTED:")
    assert redacted.endswith("]" + after)


GENERATED = "KnKDcdVfhv4j"  # nobody's, as all values here
LONG = "1x72EsSfUQUAkNX7LHQ7AtNJX3OrUbmkLCNPloWR"
NBSP = "\u00a0"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        pytest.param("SECRET_KEY_BASE={}", HEX[:64], id="name-that-goes-on"),
        pytest.param("JWT_SECRET_OLD={}", LONG, id="rotated"),
        pytest.param("export STRIPE_KEY={}", LONG, id="key-of-somebody"),
        pytest.param('const webhookSecretPrevious = "{}"', LONG, id="camel-case-that-goes-on"),
        pytest.param('secret = []byte("{}")', LONG, id="behind-a-conversion"),
        pytest.param("the password for staging is {}", GENERATED, id="words-between"),
        pytest.param("the password for staging is {}", "Sommer#24", id="words-between-made-up"),
        pytest.param("The password is: {}", GENERATED, id="is-and-colon"),
        pytest.param("log in with {} as the password", GENERATED, id="named-afterwards"),
        pytest.param("mot de passe : {}", "IaUyipEQTdaa", id="french"),
        pytest.param("das Kennwort lautet {}", GENERATED, id="german"),
        pytest.param("пароль для стенда {}", GENERATED, id="russian"),
        pytest.param("パスワードは{}です", GENERATED, id="japanese"),
        pytest.param("mysql -uroot -p{} app", GENERATED, id="mysql"),
        pytest.param("mariadb -u me -p{} app", "sommer2024", id="mariadb-made-up"),
        pytest.param("sshpass -p {} ssh a@b", GENERATED, id="sshpass"),
        pytest.param("docker login -u me -p {}", GENERATED, id="docker-login"),
        pytest.param("zip -P {} x.zip y", GENERATED, id="another-program"),
        pytest.param("curl -u {}: https://api.example", LONG, id="curl-token-alone"),
        pytest.param("machine x login me password {}", GENERATED, id="netrc"),
        pytest.param("Cookie: theme=dark; session={}; lang=en", LONG, id="cookie"),
        pytest.param("https://{}@github.com/a/b", LONG, id="user-of-a-url"),
        pytest.param("https://{}:@github.com/a/b", LONG, id="user-of-a-url-and-no-password"),
        pytest.param("https://b.s3.example/k?X-Amz-Signature={}&a=1", HEX[:64], id="presigned"),
        pytest.param("https://x.example/back?code={}", LONG, id="oauth-code"),
        pytest.param("password: |\n  {}\nuser: me", GENERATED, id="block-scalar"),
        pytest.param("password:\n{}", GENERATED, id="next-line"),
        pytest.param("- name: API_TOKEN\n  value: {}", LONG, id="name-and-value"),
        pytest.param(f"password:{NBSP}{{}}", GENERATED, id="no-break-space"),
        pytest.param("password＝{}", GENERATED, id="full-width"),
        pytest.param("&quot;password&quot;: &quot;{}&quot;", GENERATED, id="html"),
        pytest.param(r"\\\"api_key\\\": \\\"{}\\\"", LONG, id="json-in-json-in-json"),
    ],
)
def test_a_value_that_looks_generated_is_hidden_wherever_a_secret_is_spoken_of(text: str, secret: str) -> None:
    before, after = text.split("{}")

    redacted = redact(before + secret + after).text

    assert redacted.startswith(before + "[REDACTED:")
    assert redacted.endswith("]" + after)


SLASHED = "wJalr" + "XUtnFEMI/K7MDENG/bPxRfiCYzzQ8kLm2Tn"


@pytest.mark.parametrize(
    "secret", [SLASHED, "d4B0h/7Luvro5gkRtg+jrkw54KFaJkBRl6MTn/Vv1=", "/" + SLASHED, f"+{SLASHED}=="]
)
@pytest.mark.parametrize("text", [
    "aws configure set aws_secret_access_key {}", "the aws secret access key is {}", "setx AWS_SECRET_ACCESS_KEY {} /M",
    "ENV AWS_SECRET_ACCESS_KEY {}", "our token ({}) expires", "secret `{}`", "use {} as the signing key",
    "vault kv put kv/x key={}", 'ghSecret("{}")', "AccountName=a;AccountKey={};Endpoint=x", "machine h password {}",
])  # fmt: skip
def test_a_secret_with_slashes_and_signs_is_hidden_whole(text: str, secret: str) -> None:
    before, after = text.split("{}")
    assert re.fullmatch(
        r"\+?\[REDACTED:\w+\]=*", redact(text.replace("{}", secret)).text[len(before) :].removesuffix(after)
    )


@pytest.mark.parametrize("text", [
    "the key is stored in src/auth/tokenStore2/refreshToken", "the cache key is users/42/avatarV3/Small",
    "secret mounted at run/secrets/DbPassword2", "auth/OAuth2/PKCE/S256 keys", "the key CI/CD/K8s/EKS/IAM/RBAC",
    "token in build/assets/BxK3f9aZ12QwLm.js", "key sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "hash token in objects/e6/9de29bb2d1d6434b8b29ae775ad8c2e48c5391",
])  # fmt: skip
def test_a_path_beside_the_name_of_a_secret_stays(text: str) -> None:
    assert redact(text).text == text


def test_what_was_hidden_names_no_secret_of_its_neighbours() -> None:
    assert redact(f"ids {GENERATED} {GENERATED}x").count == 0
    assert redact(f"[REDACTED:password] {GENERATED}").count == 0


@pytest.mark.parametrize("piece", ["password ", "key_", "cookie: a=b; ", "mysql -p", "token is ", f"{GENERATED} "])
def test_a_text_of_fifty_thousand_characters_takes_no_time_that_anybody_notices(piece: str) -> None:
    text = (piece * 50_000)[:50_000]
    started = time.process_time()

    redact(text)

    assert time.process_time() - started < 2  # quadratic expressions took 16 s


ORDINARY = [
    "the token expires after 15 minutes", f"the token refactor of {HEX[:40]} broke the key exchange",
    "token_id = 550e8400-e29b-41d4-a716-446655440000", "PASSWORD_MIN_LENGTH=12 TOKEN_TTL=3600s",
    "signature = key.sign(msg, padding.PKCS1v15(), hash)", 'from jwt import ("PyJWKClient", "PyJWKSet")',
    "the key fingerprint is SHA256:" + LONG + "abc", "API_PUBLIC_KEY=" + LONG, "docker run -p 8080:80 -k img",
    "token for https://example.com/a/" + LONG + "/b", "password: required field", "password (min 12 chars)",
    "fixed in 3f786850e387550fdab836ed7e6dc880de23001b", f"sha256:{HEX[:64]}",
    "550e8400-e29b-41d4-a716-446655440000", "data " + "SGVsbG8gd29ybGQgdGhpcyBpcyBhIHRlc3QgZm9yIHRlc3Q=",
    "/home/x/.ssh/id_rsa", "private_key_path = ~/.ssh/id_ed25519", "https://example.com:8080/a@b?c=d@e",
    "http://localhost:3000/@scope/pkg", "git@github.com:owner/repo.git", "ssh://git@github.com:22/o/r",
    "postgres://user:password@localhost/db", "postgres://user:${PASS}@localhost/db", "token = get_token()",
    "token = 'refresh_token'", "secret_key = settings.SECRET_KEY", 'password = os.environ["DB_PASSWORD"]',
    "password=${DB_PASSWORD} PASSWORD=$DB_PASSWORD", "password: {{ vault_password }}",
    "password = None, password: null, password=true, password=***", "password: Optional[str] = None",
    "login(password=password)", "if password == user.password_hash:", "api_key: 'your-api-key-here'",
    "PASSWORD=<your-password>", "password: 'Enter your password'", "fields = ['password', 'email2']",
    "Authorization: Bearer <token>", "Authorization: Bearer YOUR_API_KEY", "Bearer token authentication",
    "max_tokens=4096", 'tokenizer = "porter unicode61"', "topic_key=decision/auth-tokens-2024",
    "secret: db-credentials-v2", "PWD=/home/user1/work", "docker run -u 1000:1000 img && curl x",
    "sk-circle-fade-dot-animation-delay", "task-management-system-for-agents",
    f"`-----BEGIN {KEY}-----` must be the first line", "-----BEGIN PUBLIC KEY-----\nabc",
    "bypass=enabled1 compass: north42",
]  # fmt: skip


def test_ordinary_notes_are_left_as_they_are() -> None:
    assert [redact(text).text for text in ORDINARY] == ORDINARY
    assert sum(redact(text).count for text in ORDINARY) == 0


def test_every_kind_is_counted() -> None:
    token = "gh" + "p_" + MIXED[:36]
    redacted = redact(f"<private>x</private> {token} and {token}")
    assert redacted.kinds == {"private_tag": 1, "github_token": 2}
    assert redacted.count == 3


def test_tokens_that_touch_are_all_hidden() -> None:
    token = "sh" + "pat_" + HEX[:32]
    assert redact(token * 20).text == "[REDACTED:shopify_token]" * 20


def test_a_value_is_hidden_up_to_what_was_hidden_before() -> None:
    assert redact("password: hunter2[REDACTED:jwt]").text == "password: [REDACTED:password][REDACTED:jwt]"


def test_a_secret_after_a_letter_that_grows_in_lower_case_is_hidden_exactly() -> None:
    assert redact('İİİ password = "hunter2" İ').text == 'İİİ password = "[REDACTED:password]" İ'


FRAGMENTS = st.sampled_from(
    ["password", "token", "api_key", "auth", "=", ":", ": ", " = ", '"', "'", "`", " ", "\n", "\\", ";", "&", ",", "--"]
    + ["://", "u:", "@h", "curl -u ", "Authorization: Bearer ", "<private>", "</private>", "<private", "[REDACTED", "]"]
    + ["[REDACTED:x]", "hunter2!", f"-----BEGIN {KEY}-----", f"-----END {KEY}-----", MIXED, HEX, "İ", "密码", "\ud800"]
    + [token for _, token in TOKENS]
)


@settings(max_examples=4 * settings().max_examples)
@given(st.lists(st.one_of(FRAGMENTS, st.text(max_size=6)), max_size=12).map("".join))
def test_redacting_never_fails_and_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)
    assert redact(once.text).text == once.text
    assert (once.count == 0) == (once.text == text)
