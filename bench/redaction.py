"""``python -m bench.redaction``: which share of common forms of credentials redaction hides, and how often it is wrong.

Each form stands with random values of a seed. A hash splits the forms into two halves: tune on one, report the other
(``--half report``). False alarms are what is hidden in lines of Python's library, installed packages and their READMEs:
10,000 lines in excerpts of twenty, and 2,000 excerpts of three lines around a word such as ``password`` or ``key``.
"""

from __future__ import annotations

import argparse
import random
import re
import string
import sysconfig
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from engram_py.base.capture.redact import redact

DRAWS = 3
SEED = 19
# What a value is drawn as: {P} a generated password, {S} one with signs, {T} a token, {L} a lower-case one, {H} hex,
# {B} base64, {U} a UUID, {W} what a person makes up, {N} digits.
FORMS = r"""
# names in .env files and shells
SECRET_KEY_BASE={H}
JWT_SECRET_OLD={T}
export STRIPE_KEY={T}
AZURE_DEVOPS_EXT_PAT={L}
DB_PASSWORD_STAGING={P}
PGPASSWORD={P} psql -h db
MYSQL_ROOT_PASSWORD={W}
export SENDGRID={T}
DJANGO_SECRET={S}
OPENAI_KEY_2={T}
export GH_PAT={L}
REDIS_AUTH={P}
SMTP_PASS={S}
SLACK_SIGNING={H}
TWILIO_TOKEN_TEST={H}
APP_KEY=base64:{B}
ENCRYPTION_KEY_V1={H}
set AWS_SESSION_TOKEN={B}
$env:CLIENT_SECRET = "{S}"
ENV API_SECRET_PROD={T}
ARG NPM_AUTH={U}
setx DB_PWD {P}
export TF_VAR_db_password='{P}'
fish: set -x GITHUB_TOKEN {L}
WEBHOOK_SIGNING_SALT={T}
PASSWORD_FOR_BACKUP={P}
RESTIC_PASSPHRASE={S}
SENTRY_AUTH={H}
CF_API_KEY={H}
HONEYCOMB_WRITEKEY={T}
DATADOG_APP_KEY={H}
ALGOLIA_ADMIN_APIKEY={H}
COOKIE_SECRETS={T},{T}
KEYCLOAK_ADMIN_PASSWORD: {P}
# assignments in code
secret = []byte("{T}")
String apiKey = "{T}";
const stripeSecretKey = '{T}';
self.access_token_secret = "{T}"
let dbPasswd: String = "{P}".to_string();
private static final String ENC_KEY_CURRENT = "{B}";
client = Client(api_key="{T}")
Client(auth_token='{L}', retries=3)
connect(user="me", password="{P}")
password = b"{P}"
password = os.getenv("DB_PASSWORD", "{P}")
process.env.JWT_SECRET || '{T}'
config.secret_key_base = '{H}'
auth = ("admin", "{P}")
auth=HTTPBasicAuth('me', '{P}')
#define WIFI_PASSWORD "{P}"
#define API_TOKEN_V2 "{T}"
var signingKey = Encoding.UTF8.GetBytes("{S}");
new SymmetricSecurityKey("{T}")
client.setPassword("{P}");
options.ClientSecret = "{T}";
user.update(password: "{P}")
:secret_token => '{H}'
define('AUTH_SALT', '{S}');
define('DB_PASSWORD', '{P}');
login("me", password="{W}")
ALTER USER app WITH PASSWORD '{P}';
CREATE USER app IDENTIFIED BY '{P}';
hmac.new(b"{T}", message, "sha256")  # the webhook secret
jwt.encode(payload, "{T}", algorithm="HS256")
fetch(url, {headers: {"x-api-key": "{T}"}})
headers = {"Authorization": f"token {L}"}
headers["X-Auth-Token"] = "{T}"
r.setRequestHeader('X-Vault-Token', '{T}')
val apiToken by lazy { "{T}" }
$password = ConvertTo-SecureString "{P}" -AsPlainText -Force
New-Object PSCredential("me", "{P}")
my $passwd = q{{P}};
secretKey := "{T}"
passwords = ["{P}", "{P}"]
tokens = {"ci": "{T}"}
assert client.key == "{T}"
<input type="password" value="{P}">
# configuration
password: {P}
password: "{P}"
  db_password: '{W}'
secret_key_base: {H}
password: |\n  {P}
password: >-\n  {P}
token: >\n    {T}
password:\n  {P}
api_key_old: {T}
"password": "{P}"
{"clientSecret": "{T}"}
{"auth": {"type": "basic", "pass": "{P}"}}
{"auths": {"r.example": {"auth": "{B}"}}}
{\"password\": \"{P}\"}
{\\"api_key\\": \\"{T}\\"}
{\"access_token\":\"{T}\",\"expires_in\":3600}
{"name": "DB_PASSWORD", "value": "{P}"}
- name: API_TOKEN\n  value: {T}
- name: POSTGRES_PASSWORD\n  value: "{P}"
&quot;password&quot;: &quot;{P}&quot;
&#34;token&#34;:&#34;{T}&#34;
<add key="ApiSecret" value="{T}" />
<property name="password" value="{P}"/>
<password>{P}</password>
<apiKey>{T}</apiKey>
<entry key="db.password">{P}</entry>
spring.datasource.password={P}
jdbc.password = {W}
//registry.npmjs.org/:_authToken={U}
//npm.example/:_password={B}
_auth = {B}
machine api.example login me password {P}
machine h\n  login me\n  password {P}
default login me password {P}
db.example:5432:app:me:{P}
[client]\nuser=root\npassword={P}
password=\u00a0{P}
password:\u00a0{P}
password\u00a0: {P}
token\u2009=\u2009{T}
variable "db_password" { default = "{P}" }
secret_access_key = "{B}"
account_key = "{B}"
DefaultEndpointsProtocol=https;AccountName=a;AccountKey={B}
Server=tcp:x;User ID=me;Pwd={P};
Endpoint=sb://x.example/;SharedAccessKeyName=Root;SharedAccessKey={B}
requirepass {P}
psk="{P}"
wpa_passphrase={W}
rootpw {P}
bindpw: {P}
sasl_passwd: [smtp.example]:587 me:{P}
echo "me:{P}" | chpasswd
data:\n  password: {B}
stringData:\n  token: {T}
aws_secret_access_key={B}
encryption: {key: "{B}"}
hmac_key: {H}
webhook_secret_previous: {H}
# flags and commands
mysql -u root -p{P} app
mysql -uroot -p{P}
mysqldump -h db -u me -p'{S}' app > x
mariadb --user=me -p{W}
sshpass -p {P} ssh a@b
sshpass -p '{S}' scp x a@b:
sshpass -p{P} ssh h
docker login -u me -p {P}
docker login --username me --password {P} r.example
echo {P} | docker login --password-stdin
podman login -p {T} -u me r.example
helm registry login r.example -u me -p {P}
az login -u me -p {P}
curl -u me:{P} https://x.example
curl -u {L}: https://api.example
curl --user me:{P} https://x.example
curl -H "X-Api-Key: {T}" https://x.example
curl -H 'PRIVATE-TOKEN: {T}' https://x.example
curl -d 'grant_type=password&password={P}' https://x.example
curl https://x.example -d "{\"password\":\"{P}\"}"
wget --http-password={P} https://x.example
wget --password {P} ftp://h
http -a me:{P} x.example
redis-cli -a {P} ping
redis-cli -h h --pass {P}
mongosh -u me -p {P}
mongo --username me --password '{S}'
psql "host=h user=me password={P}"
ldapsearch -D cn=me -w {P}
rclone config create x s3 secret_access_key {B}
vault login {T}
vault write auth/x password={P}
gh auth login --with-token <<< {L}
aws configure set aws_secret_access_key {B}
kubectl create secret generic x --from-literal=password={P}
heroku config:set JWT_SECRET_OLD={T}
openssl enc -aes-256-cbc -k {P} -in x
openssl rsa -passin pass:{P} -in x
7z a -p{P} x.7z y
zip -P {P} x.zip y
unzip -P {P} x.zip
gpg --batch --passphrase {S} -c x
net use z: \\h\s {P} /user:me
sqlcmd -S h -U me -P {S}
smbclient //h/s -U me%{P}
keytool -storepass {P} -list
twine upload -u me -p {P} dist/x
snowsql --token {T}
terraform apply -var db_password={P}
ansible-playbook x -e "ansible_become_pass={P}"
# headers, URLs and cookies
Authorization: Bearer {T}
Authorization: Token {L}
Authorization: Basic {B}
Authorization: ApiKey {B}
Authorization: {L}
Proxy-Authorization: Basic {B}
X-Auth-Token: {T}
X-API-KEY: {T}
Cookie: session={T}
Cookie: theme=dark; sessionid={L}; lang=en
Cookie: JSESSIONID={H}
Set-Cookie: connect.sid={T}; Path=/; HttpOnly
set-cookie: auth={B}; Secure
curl -b 'session={T}' https://x.example
curl --cookie "sid={T}" https://x.example
https://{T}@github.com/a/b
https://{L}@git.example/a.git
https://{L}:x-oauth-basic@github.com/a/b
https://me:{P}@git.example/a.git
postgres://app:{P}@db/x
redis://:{P}@h:6379/0
https://x.example/cb?code={T}&state={T}
https://x.example/cb#access_token={T}&token_type=bearer
https://b.s3.amazonaws.com/k?X-Amz-Credential=x&X-Amz-Signature={H}
https://b.s3.amazonaws.com/k?AWSAccessKeyId=x&Signature={B}&Expires=1
https://storage.googleapis.com/b/o?X-Goog-Signature={H}
https://a.blob.core.windows.net/c/b?sv=2020&sig={B}
https://d.cloudfront.net/x?Expires=1&Signature={T}&Key-Pair-Id=K
https://maps.example/api?key={T}
https://x.example/reset?token={L}
https://x.example/api?apikey={L}&q=1
wss://x.example/?auth={T}
# prose
the password for staging is {P}
The password is: {P}
password is {S}
pw: {P}
PW {P}
my pin is {N}, the password {P}
Passwort: {W}
Das Passwort für den Server lautet {P}
Kennwort: {P}
mot de passe : {P}
le mot de passe est {P}
contraseña: {P}
la contraseña es {P}
senha: {W}
clave: {P}
hasło: {P}
wachtwoord: {P}
lösenord: {P}
пароль: {P}
пароль для стенда {P}
密码是 {P}
密码：{P}
パスワードは{P}です
비밀번호: {P}
şifre: {P}
use the token {T} for CI
the new API key is {T}
log in as admin with {P} as the password
log in with admin / {P}
user: me pass: {P}
login me, password {P}
username/password: me/{P}
credentials: me:{P}
creds are me / {P}
I set the root password to {P} yesterday
we changed the db password from {P} to {P}
the secret (`{T}`) goes into the vault
**Token**: `{T}`
| password | {P} |
| API key | `{T}` |
Passphrase "{S}" unlocks it
the wifi password's {W}
the webhook secret should be {H}
recovery code: {L}
master key -> {H}
seed for the token: {T}
"""

_LETTERS = string.ascii_letters + string.digits
_WORDS = ("sommer", "dragon", "monkey", "welcome", "hunter", "Winter", "coffee", "Berlin")
_NAMED = re.compile(r"(?i)passw|passp|secret|token|api.?key|_key|credential|auth|cookie|signature")


def _drawn(chance: random.Random, letters: str, low: int, high: int) -> str:
    """Return a random value of all the classes of ``letters``."""
    while True:
        value = "".join(chance.choices(letters, k=chance.randint(low, high)))
        if all(any(map(one, value)) for one in (str.islower, str.isdigit)) and not value.isupper():
            return value


VALUES: dict[str, Callable[[random.Random], str]] = {
    "P": lambda chance: _drawn(chance, _LETTERS, 12, 16),
    "S": lambda chance: _drawn(chance, _LETTERS + "!#%*+=?~^@", 14, 18),
    "T": lambda chance: _drawn(chance, _LETTERS, 24, 40),
    "L": lambda chance: _drawn(chance, string.ascii_lowercase + string.digits, 32, 44),
    "H": lambda chance: _drawn(chance, "0123456789abcdef", 32, 64),
    "B": lambda chance: _drawn(chance, _LETTERS + "+/", 40, 64) + "==",
    "U": lambda chance: "-".join(_drawn(chance, "0123456789abcdef", n, n) for n in (8, 4, 4, 4, 12)),
    "W": lambda chance: chance.choice(_WORDS) + str(chance.randint(10, 2030)) + chance.choice(("", "!")),
    "N": lambda chance: str(chance.randint(1000, 9999)),
}


def forms(half: str) -> list[str]:
    """Return the forms of a half (``build`` or ``report``), or ``all``."""
    lines = [line for line in FORMS.strip().splitlines() if not line.startswith("# ")]
    return [line for line in lines if half == "all" or (zlib.crc32(line.encode()) % 2 == 1) == (half == "report")]


def filled(form: str, chance: random.Random) -> tuple[str, list[str]]:
    """Return a form with values in it, and those that must not be seen (a PIN of four digits may)."""
    made: list[str] = []

    def value(match: re.Match[str]) -> str:
        made.append(VALUES[match[1]](chance))
        return made[-1]

    text = re.sub(r"\{([A-Z])\}", value, form)
    for escape, char in ((r"\n", "\n"), (r"\u00a0", "\u00a0"), (r"\u2009", "\u2009")):
        text = text.replace(escape, char)
    return text, [one for one in made if len(one) > 4]


def missed(form: str) -> str | None:
    """Return a text of the form in which a secret is still to be seen."""
    chance = random.Random(f"{SEED} {form}")
    for before, after in (("", ""), ("Seen today:\n", "\nIt works now."), ("so we did ", "")):
        text, secrets = filled(form, chance)
        hidden = redact(before + text + after).text
        if any(secret in hidden or secret[:-2] in hidden for secret in secrets):
            return hidden
    return None


def _sources() -> list[list[Path]]:
    """Return the texts of each package, of Python's library and of the documents here, each a list."""
    kinds = {".py", ".md", ".rst", ".txt", ".pyi", ".toml", ".cfg", ".json", ".js", ".sql", ".h", ".sh", ".yml"}
    library, packages = (Path(sysconfig.get_paths()[name]) for name in ("stdlib", "purelib"))
    groups: dict[str, list[Path]] = {}
    for root in (library, packages, Path(__file__).parents[1] / "docs"):
        for path in sorted(root.rglob("*"), key=str):
            parts = path.relative_to(root).parts
            if path.is_file() and (path.suffix in kinds or path.name == "METADATA") and "-packages" not in parts[0]:
                groups.setdefault(f"{root} {parts[0]}", []).append(path)
    return [groups[name] for name in sorted(groups)]


def excerpts(count: int, lines: int, *, named: bool = False) -> Iterator[tuple[Path, str]]:
    """Yield excerpts of at most ``lines`` lines, ``count`` whole ones or as many lines of shorter ones.

    ``named`` are around a word that secrets are named by.
    """
    chance, sources, given = random.Random(SEED), _sources(), 0
    while given < count * lines:
        path = chance.choice(chance.choice(sources))
        text = [line[:400] for line in path.read_text("utf-8", "replace").split("\n")]
        places = [at for at, line in enumerate(text) if not named or _NAMED.search(line)]
        for at in chance.sample(places, min(len(places), 3)):
            excerpt = text[max(0, at - lines // 2) : at + lines - lines // 2]
            given += len(excerpt)
            yield path, "\n".join(excerpt)


def _alarms(texts: Iterator[tuple[Path, str]], *, show: bool) -> tuple[int, int]:
    lines = wrong = 0
    for path, text in texts:
        hidden = redact(text)
        lines += text.count("\n") + 1
        wrong += hidden.count
        if show and hidden.count:
            changed = zip(text.split("\n"), hidden.text.split("\n"), strict=False)
            said = (f"{a.strip()[:150]}  ->  {b.strip()[:150]}" for a, b in changed if a != b)
            print(f"  {path.name}: {next(said, '')}")
    return wrong, lines


def _seconds(text: str) -> float:
    began = time.perf_counter()
    redact(text)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.redaction", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--half", choices=("build", "report", "all"), default="all")
    parser.add_argument("--show", action="store_true", help="print what was missed and what was hidden wrongly")
    arguments = parser.parse_args()
    tried = forms(arguments.half)
    misses = [(form, text) for form in tried if (text := missed(form)) is not None]
    if arguments.show:
        print(*(f"  {form}\n      {text!r}" for form, text in misses), sep="\n")
    print(f"caught {len(tried) - len(misses)} of {len(tried)} forms ({arguments.half})")
    wrong, lines = _alarms(excerpts(500, 20), show=arguments.show)
    print(f"false alarms {wrong} in {lines:,} lines of code and prose")
    wrong, lines = _alarms(excerpts(2_000, 3, named=True), show=arguments.show)
    print(f"false alarms {wrong} in {lines:,} lines around a secret's name")
    mixed, code = "\n".join(text for _, text in excerpts(80, 20)), Path(random.__file__).read_text()
    for name, text in (("excerpts", mixed[:50_000]), ("code", (code * 3)[:50_000])):
        print(f"{name} of {len(text):,} characters: {min(_seconds(text) for _ in range(20)) * 1_000:.1f} ms")


if __name__ == "__main__":
    main()
