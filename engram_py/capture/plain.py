"""Tell cheaply that a text holds nothing to redact: loading the redaction costs more than a search."""

from __future__ import annotations

# What people call a password, in lower case; each name is looked for wherever it stands in a longer one.
PASSWORD_NAMES = (
    "pass", "pwd", "pw", "psk", "kennwort", "contrase", "clave", "senha", "hasło", "wachtwoord", "lösenord", "heslo",
    "salasana", "adgangskode", "jelszó", "şifre", "parola", "пароль", "密码", "密碼", "口令", "パスワード", "비밀번호",
    "mật khẩu", "kata sandi", "รหัสผ่าน", "كلمة المرور", "סיסמה", "पासवर्ड", "κωδικός",
)  # fmt: skip
# What else stands for a secret.
SECRET_NAMES = ("secret", "token", "key", "auth", "cred", "salt", "signing", "pat", "jwt", "hmac", "identified")
# What each finder of capture/redact.py needs before it looks closer; a test holds this against the redaction.
_TELLING = ("<", "://", "private key", "putty-user", "authorization", "bearer", "curl", "--", "cookie", " -p")
_RUN_LENGTH = 16
_GENERATED_LENGTH = 8
_VERBS = ("is", "be", "was", "est", "es", "ist", "lautet")
_SEPARATORS = ("=", ":", "：", "＝", "|", ">", "(", "（", ",", "→")
_SIGNS = b"!#$%^*+?~@"
_KEPT = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + _SIGNS)
_TO_RUNS = bytes(byte if byte in _KEPT else 0x20 for byte in range(256))


def mixed_runs(text: str) -> list[str]:
    """Return the runs of letters, digits and signs in which a generated value may lie: long, and more than letters."""
    runs = text.encode("utf-8", "replace").translate(_TO_RUNS).split()
    long = [run for run in runs if len(run) >= _GENERATED_LENGTH and not run.isalpha()]
    bare = (run.lstrip(_SIGNS).rstrip(b"*~") for run in long)
    return [run.decode() for run in bare if len(run) >= _GENERATED_LENGTH and not run.isalpha() and not run.isdigit()]


def surely_plain(text: str) -> bool:
    """Return whether redaction would leave ``text`` as it is; False also means that only the redaction can tell."""
    lowered = text.replace("\u0130", "I").lower()  # as the redaction does
    words = lowered.split()
    long = (word for word in words if len(word) >= _RUN_LENGTH)
    if any(sign in lowered for sign in _TELLING) or any(sum(map(str.isascii, word)) >= _RUN_LENGTH for word in long):
        return False
    named = any(name in lowered for name in (*PASSWORD_NAMES, *SECRET_NAMES))
    if (named or " -" in lowered) and mixed_runs(text):
        return False
    return not (named and (any(verb in words for verb in _VERBS) or any(sign in lowered for sign in _SEPARATORS)))
