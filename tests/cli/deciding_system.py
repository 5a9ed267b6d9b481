"""A system of a third party whose pipeline adds messages to decisions, and reads tables for it."""

from collections.abc import Mapping

from holdfast import Holdfast, Pipeline
from holdfast.messaging import Decided, Message
from holdfast.systems import Parts, System


def build(_: Mapping[str, str]) -> Parts:
    bound: list[Holdfast] = []

    def noted(decided: Decided) -> list[Message]:
        with bound[0].transaction() as tx:
            row = tx.row("select count(*) as found from deciding.notes")
        return [Message(f"parcel.{decided.kind}", row)]

    pipeline = Pipeline("parcels", on_decision=noted)
    pipeline.stage(name="send")(lambda job: None)
    return Parts(pipelines=[pipeline], bind=bound.append, tables="tests.cli.deciding_tables")


SYSTEM = System(name="deciding", title="Deciding", build=build)
