"""A job in the caller's own transaction: it exists if and only if the caller's rows do."""

from __future__ import annotations

import sqlite3

from holdfast import Holdfast, JobContext, JobHandle, Pipeline

DATABASE = "shop.db"

receipts = Pipeline("receipts")


@receipts.stage
def send_receipt(job: JobContext, order_id: int) -> str:
    """Send one receipt; the token lets the mail service recognise a second copy."""
    return f"receipt for order {order_id}, sent as {job.idempotency_token}"


app = Holdfast(f"sqlite:///{DATABASE}", pipelines=[receipts])


def place_order(shop: sqlite3.Connection, *, item: str, in_stock: bool) -> JobHandle:
    """Store an order and the duty to send its receipt, both or neither."""
    with shop:  # commits at the end, rolls back when an exception leaves it
        order_id = shop.execute("insert into orders (item) values (?)", (item,)).lastrowid
        receipt = app.submit(receipts, {"order_id": order_id}, connection=shop)
        if not in_stock:
            raise LookupError(f"{item} is sold out")
    return receipt


def main() -> None:
    """Place one order that stands and one that is rolled back."""
    worker = app.worker()  # opens the database, so that holdfast's tables are there
    shop = sqlite3.connect(DATABASE)
    shop.execute("create table if not exists orders (id integer primary key, item text)")

    receipt = place_order(shop, item="rope", in_stock=True)
    try:
        place_order(shop, item="anchor", in_stock=False)
    except LookupError as error:
        print("rolled back:", error)
    print("orders:", shop.execute("select item from orders").fetchall())
    print("jobs:", [job.payload for job in app.jobs()])

    worker.start()
    print(receipt.wait(timeout=30).result)
    worker.drain()
    shop.close()


if __name__ == "__main__":
    main()
