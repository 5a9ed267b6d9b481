"""Something done to dead letters named by their ids, each with a result of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.cli.shell.complaint import complain, document_of
from holdfast.cli.shell.exit_codes import ExitCode, code_of
from holdfast.cli.shell.output import Output
from holdfast.errors import HoldfastError, UnavailableError
from holdfast.views.dead_letter import LetterView
from holdfast.views.explain.dead_letter import next_move


def each_letter(
    output: Output, letter_ids: Sequence[str], do: Callable[[str], LetterView]
) -> ExitCode:
    """Do it to each of the letters and tell how that stands then; a refusal spares the others."""
    codes: list[ExitCode] = []
    for letter_id in dict.fromkeys(letter_ids):
        try:
            view = do(letter_id)
        except UnavailableError:
            raise
        except HoldfastError as error:
            codes.append(code_of(error))
            if len(letter_ids) == 1:
                raise
            _complain(output, letter_id, error, codes[-1])
        else:
            codes.append(ExitCode.OK)
            _tell(output, view)
    refused = {code for code in codes if code is not ExitCode.OK}
    if not refused:
        return ExitCode.OK
    return refused.pop() if refused == set(codes) and len(refused) == 1 else ExitCode.FAILED


def _complain(output: Output, letter_id: str, error: HoldfastError, code: ExitCode) -> None:
    if output.as_json:
        output.document({"id": letter_id, "changed": False, "error": document_of(error, code)})
    else:
        complain(error, exit_code=code, as_json=False)


def _tell(output: Output, view: LetterView) -> None:
    if output.as_json:
        output.document({**view.to_document(), "changed": True})
        return
    output.line(f"{view.id}  {view.standing.value}")
    output.remark(next_move(view).with_command)
