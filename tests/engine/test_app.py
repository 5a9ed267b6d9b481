"""The application is made of parts, and its verbs are theirs."""

from holdfast import Holdfast
from holdfast.core.upstream.upstream import UpstreamState
from holdfast.engine.delegate import Delegate


def test_every_verb_of_the_application_is_that_of_the_part_it_names():
    app = Holdfast("sqlite:///:memory:")
    verbs = {name: each for name, each in vars(Holdfast).items() if isinstance(each, Delegate)}

    strangers = [
        name
        for name, verb in verbs.items()
        if getattr(app, name).__func__ is not verb.method
        or getattr(type(getattr(app, verb.part)), verb.method.__name__) is not verb.method
    ]

    assert verbs
    assert strangers == []
    app.close()


def test_the_application_is_no_part_and_inherits_from_none():
    assert Holdfast.__mro__ == (Holdfast, object)


def test_who_listens_to_one_application_hears_nothing_of_another():
    one, other = Holdfast("sqlite:///:memory:"), Holdfast("sqlite:///:memory:")
    told = []
    for app in (one, other):
        app.store.upstreams.save(UpstreamState("gateway"), now=app.clock.now(), audit=[])
        app.signals.gates.listen(lambda move, app=app: told.append(app))
        app.store.timings.observe(lambda *_, app=app: told.append(app))

    one.upstreams.force_open("gateway", by="ada")
    one.jobs()

    assert {id(app) for app in told} == {id(one)}
    one.close()
    other.close()
