"""Notion as the tests find it: two databases behind the real SDK."""

from collabiq.notion import DEFAULT_FIELDS, NotionApi
from collabiq.notion.schema import COMPANY_FIELDS, KINDS
from collabiq.stand_ins.notion import NotionStandIn
from collabiq.stand_ins.serving import Serving

COLUMNS = {
    DEFAULT_FIELDS[field]: kinds[0] for field, kinds in KINDS.items() if field not in COMPANY_FIELDS
}
TYPES = ["[A] portfolio x affiliate", "[B] portfolio x other", "[C] portfolio x portfolio", "[D]"]


class World:
    """A workspace with a table of collaborations, and one of companies."""

    def __init__(self, stand_in: NotionStandIn, serving: Serving) -> None:
        self.stand_in, self.serving = stand_in, serving
        self.rows = stand_in.add_database("협업", COLUMNS, options={"협업형태": TYPES})
        self.companies = stand_in.add_database(
            "회사",
            {"Name": "title", "Is Portfolio?": "checkbox", "Shinsegae affiliates?": "checkbox"},
        )
        self.api = NotionApi("secret-token", base_url=serving.url, timeout_s=5.0)

    def add_company(self, name: str, *, portfolio: bool = False) -> str:
        title = {"title": [{"text": {"content": name}}]}
        return self.stand_in.add_row(
            self.companies, {"Name": title, "Is Portfolio?": {"checkbox": portfolio}}
        )
