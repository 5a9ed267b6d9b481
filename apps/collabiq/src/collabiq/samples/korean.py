"""Mails in Korean: what a working day brings."""

from __future__ import annotations

from collabiq.samples.sample import Expected, Sample, text_mail

SIGNATURE = """감사합니다.
김도윤 드림

김도윤 매니저
소리담 사업개발팀
T. 02-555-0142 | M. 010-5550-0142
doyun.kim@soridam.example"""

DISCLAIMER = (
    "본 메일은 지정된 수신인만을 위한 것이며 기밀 정보를 담고 있을 수 있습니다. "
    "수신인이 아닌 경우 즉시 삭제하여 주시기 바랍니다."
)

_PILOT = """안녕하세요, 서하백화점 여러분.

소리담과 서하백화점이 11월 10일부터 매장 음향 안내 파일럿을 시작하기로 했습니다.
본점 3개 층에서 4주간 진행하고, 결과를 보고 전 지점 확대를 협의합니다.
담당자: 김도윤

"""

SAMPLES = (
    Sample(
        "korean-plain",
        text_mail(
            _PILOT + SIGNATURE,
            subject="소리담 x 서하백화점 파일럿 시작",
            sender="김도윤 <doyun.kim@soridam.example>",
        ),
        Expected(
            subject="소리담 x 서하백화점 파일럿 시작",
            says=("소리담과 서하백화점이", "4주간", "김도윤 드림"),
            lacks=("010-5550-0142", "사업개발팀"),
            removed=("signature",),
            language="ko",
            fields={
                "startup_name": "소리담",
                "partner_org": "서하백화점",
                "person_in_charge": "김도윤",
                "date": "2025-11-10",
                "collaboration_intensity": "협력",
            },
        ),
    ),
    Sample(
        "korean-week-of-month",
        text_mail(
            "나무결과 해담푸드가 11월 1주에 포장재 공동 개발 미팅을 합니다.\n담당: 이서연\n\n감사합니다.\n",
            subject="[협업] 나무결 × 해담푸드 포장재",
        ),
        Expected(
            language="ko",
            says=("11월 1주",),
            fields={
                "startup_name": "나무결",
                "partner_org": "해담푸드",
                "person_in_charge": "이서연",
                "date": "2025-11-01",
            },
        ),
    ),
    Sample(
        "korean-full-date",
        text_mail(
            "다온로보틱스와 온들마트는 2025년 12월 1일 물류 로봇 실증 계약을 체결합니다.\n"
            "담당자는 박하준입니다.\n",
            subject="다온로보틱스-온들마트 실증 계약",
            encoding="base64",
        ),
        Expected(
            language="ko",
            fields={
                "startup_name": "다온로보틱스",
                "partner_org": "온들마트",
                "person_in_charge": "박하준",
                "date": "2025-12-01",
                "collaboration_intensity": "협력",
            },
        ),
    ),
    Sample(
        "korean-slash-date",
        text_mail(
            "하루팜과 온들마트의 산지 직송 소개 미팅이 11/7(금)에 있습니다.\n담당자: 최예린\n",
            subject="하루팜x온들마트 소개 미팅",
            encoding="quoted-printable",
        ),
        Expected(
            fields={
                "startup_name": "하루팜",
                "partner_org": "온들마트",
                "date": "2025-11-07",
                "collaboration_intensity": "이해",
            },
        ),
    ),
    Sample(
        "korean-investment",
        text_mail(
            "무지개랩에 대한 푸른은행의 시리즈 A 투자 검토가 다음 주 월요일에 시작됩니다.\n"
            "투자 금액은 20억 원 규모입니다.\n\n이서연 드림\n",
            subject="무지개랩 - 푸른은행 투자 검토",
        ),
        Expected(
            fields={
                "startup_name": "무지개랩",
                "partner_org": "푸른은행",
                "person_in_charge": "이서연",
                "date": "2025-11-10",
                "collaboration_intensity": "투자",
            },
        ),
    ),
    Sample(
        "korean-acquisition",
        text_mail(
            "한빛소프트랩의 지분 100% 인수 계약이 2025-11-20 마무리됩니다. 인수 주체는 해담푸드입니다.\n"
            "담당: 박하준\n",
            subject="한빛소프트랩 × 해담푸드 인수 합의",
        ),
        Expected(
            fields={
                "startup_name": "한빛소프트랩",
                "partner_org": "해담푸드",
                "date": "2025-11-20",
                "collaboration_intensity": "인수",
            },
        ),
    ),
    Sample(
        "korean-disclaimer",
        text_mail(
            f"{_PILOT}{SIGNATURE}\n\n{DISCLAIMER}\n", subject="소리담 x 서하백화점 일정 확인"
        ),
        Expected(
            says=("전 지점 확대",),
            lacks=("수신인", "기밀", "사업개발팀"),
            removed=("disclaimer", "signature"),
        ),
    ),
    Sample(
        "korean-euc-kr",
        text_mail(_PILOT, subject="EUC-KR", charset="euc-kr", encoding="base64"),
        Expected(says=("매장 음향 안내 파일럿",), language="ko"),
    ),
    Sample(
        "korean-cp949-as-euc-kr",
        text_mail(
            "뷁과 햏은 KS 완성형에 없는 글자입니다. 소리담과 서하백화점의 펲로젝트.\n",
            subject="CP949",
            charset="cp949",
            declared="euc-kr",
        ),
        Expected(says=("뷁과 햏은", "펲로젝트"), language="ko"),
    ),
    Sample(
        "korean-iso-2022-kr",
        text_mail(
            _PILOT,
            subject="ISO-2022-KR",
            charset="iso2022_kr",
            declared="ISO-2022-KR",
            encoding="7bit",
        ),
        Expected(says=("매장 음향 안내 파일럿",), language="ko"),
    ),
    Sample(
        "korean-wrong-charset",
        text_mail(_PILOT, subject="wrong charset", charset="utf-8", declared="us-ascii"),
        Expected(says=("매장 음향 안내 파일럿",), language="ko"),
    ),
    Sample(
        "korean-no-charset",
        text_mail(_PILOT, subject="no charset", charset="cp949", declared="x-unknown"),
        Expected(says=("매장 음향 안내 파일럿",), language="ko"),
    ),
    Sample(
        "korean-subject-cut-in-a-character",
        text_mail(
            _PILOT,
            # `파일럿` in UTF-8 has nine bytes; the first word ends after four of them.
            subject=b"=?utf-8?B?7IaM66as64u0IO2MjOyd?=\r\n =?utf-8?B?vOufvw==?=",
        ),
        Expected(subject="소리담 파일럿", says=("4주간",)),
    ),
    Sample(
        "korean-thread",
        text_mail(
            "네, 11월 12일에 나무결과 해담푸드 실무진이 만나겠습니다.\n담당자: 이서연\n\n"
            "2025년 11월 1일 (토) 오후 3:20, 최예린 <yerin@haedam.example>님이 작성:\n"
            + "".join(f"> 지난 논의 {number}번째 줄입니다.\n" for number in range(300)),
            subject="Re: 나무결 x 해담푸드",
        ),
        Expected(
            says=("실무진이 만나겠습니다",),
            lacks=("지난 논의", "님이 작성"),
            removed=("quote",),
            fields={"date": "2025-11-12", "person_in_charge": "이서연"},
        ),
    ),
    Sample(
        "korean-outlook-thread",
        text_mail(
            "동의합니다. 하루팜과 온들마트 일정은 11월 20일로 하겠습니다.\n\n"
            "-----원본 메시지-----\n보낸 사람: 박하준\n보낸 날짜: 2025년 11월 2일\n받는 사람: 최예린\n"
            "제목: 일정\n\n지난번에 말씀드린 일정입니다.\n",
            subject="RE: 하루팜 x 온들마트",
        ),
        Expected(says=("11월 20일",), lacks=("지난번에",), removed=("quote",)),
    ),
    Sample(
        "korean-only-a-signature",
        text_mail(f"안녕하세요.\n\n{SIGNATURE}\n", subject="(제목 없음)"),
        Expected(empty=True, removed=("signature",)),
    ),
    Sample(
        "korean-two-collaborations",
        text_mail(
            "두 건을 공유드립니다.\n1) 소리담과 서하백화점: 11월 10일 음향 파일럿\n"
            "2) 나무결과 해담푸드: 11월 17일 포장재 시험\n담당자: 김도윤\n",
            subject="협업 두 건 공유",
        ),
        Expected(
            says=("음향 파일럿", "포장재 시험"),
            fields={"startup_name": "소리담", "partner_org": "서하백화점"},
        ),
    ),
)
