"""Options that stand for a setting: their help names the variable and the default."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import click

from holdfast.config.settings import Settings
from holdfast.config.sources import variable_of
from holdfast.config.values import duration_text

_F = TypeVar("_F", bound=Callable[..., Any])


class SettingOption(click.Option):
    """An option of a setting, of the same name unless `setting` has another."""

    def __init__(self, *given: Any, setting: str | None = None, **attributes: Any) -> None:  # noqa: ANN401 - click's own
        super().__init__(*given, **attributes)
        self.setting = setting or self.name or ""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its help, with what else sets it and what counts without it."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        default = _defaults()[self.setting]
        known = [f"env: {variable_of(self.setting)}"]
        if default not in (None, []):
            known.append(f"default: {_words(default)}")
        return record[0], f"{record[1]}  [{'; '.join(known)}]"


def setting_option(*names: str, **attributes: Any) -> Callable[[_F], _F]:  # noqa: ANN401 - click's own
    """Give a command an option that stands for a setting; see `SettingOption`."""
    return click.option(*names, cls=SettingOption, **attributes)


@cache
def _defaults() -> dict[str, object]:
    return {name: value for name, value, _ in Settings().shown()}


def _words(value: object) -> str:
    return duration_text(value) if isinstance(value, float) else str(value)
