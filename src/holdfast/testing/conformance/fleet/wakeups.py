"""Wake-ups."""

import threading

from holdfast.store.contract import Store
from holdfast.testing.conformance.samples import NOW, after, new_job, submitted

SOON_S = 10.0


class ListenConformance:
    """What `listen` and `announce_due` promise."""

    def test_an_announcement_wakes_a_listener(self, store: Store) -> None:
        listener = store.listen()
        listener.wait(0)

        store.announce_due()

        assert listener.wait(SOON_S) is True
        listener.close()

    def test_a_new_job_wakes_the_listeners_of_other_stores(
        self, store: Store, other_store: Store
    ) -> None:
        listener = other_store.listen()
        listener.wait(0)

        submitted(store)

        assert listener.wait(SOON_S) is True
        listener.close()

    def test_many_new_jobs_wake_the_listeners_of_other_stores(
        self, store: Store, other_store: Store
    ) -> None:
        listener = other_store.listen()
        listener.wait(0)

        store.insert([new_job(key=f"k{number}") for number in range(3)])

        assert listener.wait(SOON_S) is True
        listener.close()

    def test_a_rerun_wakes_the_listeners_of_other_stores(
        self, store: Store, other_store: Store
    ) -> None:
        first = new_job(key="k")
        store.insert([first._replace(run_at=after(60))])
        listener = other_store.listen()
        listener.wait(0)

        store.insert_rerun(new_job(key="k", version=2)._replace(rerun_of=first.id))

        assert listener.wait(SOON_S) is True
        listener.close()

    def test_a_job_of_a_transaction_wakes_listeners_once_that_has_committed(
        self, store: Store, other_store: Store
    ) -> None:
        listener = other_store.listen()
        listener.wait(0)

        with store.transaction() as connection:
            store.insert([new_job()], connection=connection)

        assert listener.wait(SOON_S) is True
        listener.close()

    def test_the_last_of_many_wake_ups_comes_after_the_last_job(
        self, store: Store, other_store: Store
    ) -> None:
        listener = other_store.listen()
        listener.wait(0)
        for _ in range(50):
            submitted(store)

        while other_store.queues(now=NOW)[0].due < 50:
            assert listener.wait(SOON_S) is True
        listener.close()

    def test_every_listener_is_woken(self, store: Store) -> None:
        listeners = [store.listen() for _ in range(3)]
        for listener in listeners:
            listener.wait(0)

        store.announce_due()

        assert [listener.wait(SOON_S) for listener in listeners] == [True] * 3
        for listener in listeners:
            listener.close()

    def test_silence_ends_a_wait(self, store: Store) -> None:
        listener = store.listen()
        listener.wait(0)

        assert listener.wait(0.05) is False
        listener.close()

    def test_an_announcement_wakes_a_wait_under_way(self, store: Store) -> None:
        listener = store.listen()
        listener.wait(0)
        heard: list[bool] = []
        waiting = threading.Thread(target=lambda: heard.append(listener.wait(SOON_S)))
        waiting.start()

        while waiting.is_alive():
            store.announce_due()
            waiting.join(0.05)

        assert heard == [True]
        listener.close()

    def test_closing_ends_a_wait_under_way(self, store: Store) -> None:
        listener = store.listen()
        listener.wait(0)
        begun = threading.Event()
        heard: list[bool] = []

        def wait() -> None:
            begun.set()
            heard.append(listener.wait(3 * SOON_S))

        waiting = threading.Thread(target=wait)
        waiting.start()
        begun.wait(SOON_S)
        listener.close()
        waiting.join(SOON_S)

        assert not waiting.is_alive()
        assert heard == [False]
