"""One call by each client of HTTP."""

import asyncio

import aiohttp
import httpx
import httpx2
import requests

SHORT_S = 0.2


def get_with_httpx2(url, *, read_s=5.0, connect_s=5.0):
    with httpx2.Client(
        timeout=httpx2.Timeout(5, read=read_s, connect=connect_s), follow_redirects=True
    ) as client:
        return client.get(url).raise_for_status().json()


def get_with_httpx(url, *, read_s=5.0, connect_s=5.0):
    with httpx.Client(
        timeout=httpx.Timeout(5, read=read_s, connect=connect_s),
        follow_redirects=True,
        trust_env=False,
    ) as client:
        return client.get(url).raise_for_status().json()


def get_with_requests(url, *, read_s=5.0, connect_s=5.0):
    response = requests.get(url, timeout=(connect_s, read_s))
    response.raise_for_status()
    return response.json()


def get_with_aiohttp(url, *, read_s=5.0, connect_s=5.0):
    async def get():
        timeout = aiohttp.ClientTimeout(sock_read=read_s, sock_connect=connect_s)
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as response:
            response.raise_for_status()
            return await response.json()

    return asyncio.run(get())


CLIENTS = {
    "httpx2": get_with_httpx2,
    "httpx": get_with_httpx,
    "requests": get_with_requests,
    "aiohttp": get_with_aiohttp,
}
