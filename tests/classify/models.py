"""Language models as handlers call them: one request each, no retries of the SDK's own."""

from tests.first_use import anthropic, genai, openai

ASKED = [{"role": "user", "content": "hello"}]


def ask_openai(url, *, timeout=5.0, stream=False):
    with openai.OpenAI(base_url=url, api_key="k", max_retries=0, timeout=timeout) as client:
        answer = client.chat.completions.create(model="m", messages=ASKED, stream=stream)
        return list(answer) if stream else answer


def ask_anthropic(url, *, timeout=5.0, stream=False):
    with anthropic.Anthropic(base_url=url, api_key="k", max_retries=0, timeout=timeout) as client:
        answer = client.messages.create(model="m", messages=ASKED, max_tokens=9, stream=stream)
        return list(answer) if stream else answer


def ask_gemini(url, *, timeout=5.0, stream=False):
    options = genai.types.HttpOptions(base_url=url, timeout=int(timeout * 1_000))
    client = genai.Client(api_key="k", http_options=options)
    try:
        if stream:
            return list(client.models.generate_content_stream(model="m", contents="hello"))
        return client.models.generate_content(model="m", contents="hello")
    finally:
        client.close()


def completion(content, finish_reason="stop", **message):
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
    }
