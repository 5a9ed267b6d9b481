"""Phrases that mark signatures, quotes and disclaimers, in Korean and English."""

from __future__ import annotations

import re
from typing import Final

CLOSINGS: Final = (
    "감사합니다",
    "감사드립니다",
    "고맙습니다",
    "best regards",
    "best wishes",
    "kind regards",
    "warm regards",
    "many thanks",
    "regards",
    "sincerely",
    "sincerely yours",
    "yours sincerely",
    "yours truly",
    "thanks",
    "thank you",
    "cheers",
    "best",
)
GREETINGS: Final = ("안녕하세요", "안녕하십니까", "hello", "hi", "dear all", "hi all", "hi team")
SIGNED: Final = re.compile(r"^.{1,40}(?:드림|올림|배상)[.\s]*$")
"""`김민수 드림`: who wrote it, which is worth keeping."""
MOBILE: Final = (
    "sent from my ",
    "get outlook for ",
    "sent via ",
    "나의 iphone에서 보냄",
    "iphone에서 보냄",
    "ipad에서 보냄",
    "내 갤럭시에서 보냄",
    "galaxy에서 보냄",
    "네이버 메일 앱에서 보냈습니다",
    "outlook for android 다운로드",
    "outlook for ios 다운로드",
)
DISCLAIMERS: Final = (
    "intended recipient",
    "intended solely for",
    "intended only for",
    "this email and any attachments are confidential",
    "this e-mail and any attachments are confidential",
    "this message contains confidential",
    "this message may contain confidential",
    "privileged and confidential",
    "consider the environment before printing",
    "this email originated from outside",
    "this message originated from outside",
    "external email: ",
    "virus-free. www.",
    "지정된 수신인",
    "지정된 수신자",
    "수신인만을 위",
    "수신자만을 위",
    "수신인이 아닌",
    "수신자가 아닌",
    "수신자가 아니",
    "수신인이 아니",
    "잘못 수신",
    "잘못 전송된",
    "본 메일은 기밀",
    "본 메일에는 기밀",
    "본 이메일은 기밀",
    "본 메일 및 첨부",
    "법률에 의해 보호",
    "비밀정보가 포함",
    "외부에서 발송된 메일",
    "외부에서 수신된 메일",
    "received this message because you are subscribed to the google groups",
    "to unsubscribe from this group and stop receiving emails",
    "google 그룹스",
    "그룹에 가입되어 있기 때문",
)
WROTE: Final = re.compile(
    r"^\s*(?:on\b.{4,300}\bwrote\s*:"
    r"|.{4,300}(?:님이|님께서|이|가)?\s*(?:작성|쓴 글|작성한 메시지|보낸 메시지)\s*:"
    r"|.{4,300}\s(?:wrote|schrieb|a écrit)\s*:)\s*$",
    re.IGNORECASE,
)
"""The line before a quote; looked for in lines of bounded length only."""
ORIGINAL: Final = re.compile(
    r"^\s*-{2,20}\s*(?:original message|original appointment|원본 메시지|원본 메일|원본메일"
    r"|원본 이메일|original mail)\s*-{0,20}\s*$",
    re.IGNORECASE,
)
FORWARDED: Final = re.compile(
    r"^\s*(?:-{2,20}\s*(?:forwarded message|forwarded mail|전달된 메시지|전달된 메일|전달 메일)"
    r"|begin forwarded message\s*:|전달된 메시지 시작\s*:)[\s-]{0,40}$",
    re.IGNORECASE,
)
FIELD: Final = re.compile(
    r"^\s*\*{0,2}(from|sent|date|to|cc|bcc|subject|reply-to|importance|attachments"
    r"|보낸 ?사람|보낸 ?날짜|보낸 ?시간|보냄|발신|발신자|날짜|일시|받는 ?사람|수신|수신자|참조|제목"
    r"|첨부|첨부파일)\s*\*{0,2}\s*:",
    re.IGNORECASE,
)
FROM_FIELDS: Final = frozenset({"from", "보낸사람", "발신", "발신자"})
FORWARD_SUBJECT: Final = re.compile(r"^\s*(?:fwd?|전달)\s*[:\]]", re.IGNORECASE)
CONTACT: Final = re.compile(
    r"(?:\b(?:tel|phone|mobile|cell|fax|office|direct|e-?mail|web)\b\s*[.:)]"
    r"|\b[tmfeho]\s*[.:|]\s*\+?[\d(]|(?:전화|휴대폰|휴대전화|핸드폰|팩스|이메일|메일|주소"
    r"|연락처)\s*[.:|]"
    r"|\+?\d{2,3}[-. )]{1,2}\d{3,4}[-. ]\d{4}|\bwww\.|https?://"
    r"|[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}\.[A-Za-z0-9.-]{2,63})",
    re.IGNORECASE,
)
TITLE: Final = re.compile(
    r"\b(?:manager|director|ceo|cto|cfo|coo|founder|president|head of|lead|associate|analyst"
    r"|partner|inc|ltd|llc|corp|co)\b|대표|이사|팀장|매니저|과장|차장|부장|대리|사원|주임|본부|㈜|주식회사"
    r"|\(주\)|[가-힣]팀\b",
    re.IGNORECASE,
)
RULE: Final = re.compile(r"^[\s\-_=*~─━\u2014\u2013·]{3,}$")
DELIMITER: Final = re.compile(r"^--\s?$")
