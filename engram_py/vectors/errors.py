"""Failures of an embedder."""

from __future__ import annotations

from engram_py.errors import EmbedderError


class InvalidEmbedderError(EmbedderError):
    code = "invalid_embedder"

    def __init__(self, setting: str, expected: str) -> None:
        self.setting = setting[:200]
        super().__init__(
            f"embedder {self.setting!r} is not understood: {expected}",
            hint="run `engram vectors on`, or `engram vectors off`; ENGRAM_EMBEDDER, where it is set, wins over both",
        )


class EmbedderMissingError(EmbedderError):
    code = "embedder_not_installed"

    def __init__(self, setting: str, package: str) -> None:
        self.setting, self.package = setting, package
        lane = package in ("numpy", "onnxruntime")
        hint = "run `engram vectors on`: it installs what is missing" if lane else f"pip install {package}"
        super().__init__(f"{setting} needs the package {package}", hint=hint)


class EmbedderFailedError(EmbedderError):
    code = "embedder_failed"

    def __init__(self, setting: str, reason: str, *, hint: str) -> None:
        self.setting, self.reason = setting, reason[:300]
        super().__init__(f"{setting}: {self.reason}", hint=hint)

    @classmethod
    def absent(cls, setting: str) -> EmbedderFailedError:
        hint = "run `engram vectors on` once: it fetches the model"
        return cls(setting, "the model is not on this machine", hint=hint)

    @classmethod
    def loading(cls, setting: str, cause: Exception) -> EmbedderFailedError:
        reason = f"the model cannot be loaded: {cause or type(cause).__name__}"
        return cls(setting, reason, hint="check that the folder holds a whole model of this kind")

    @classmethod
    def running(cls, setting: str, cause: Exception) -> EmbedderFailedError:
        return cls(setting, f"the model failed: {cause or type(cause).__name__}", hint="run `engram doctor`")
