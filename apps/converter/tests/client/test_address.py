"""Where a gateway may be, whatever a name or a number pretends to be."""

import socket
import threading

import pytest

from apps.converter.tests.client.test_convert import failed
from apps.converter.tests.scripted_gateway import XML
from converter.gateway_address import AddressRefused, admit, checked_url
from converter.gateway_client import GatewayClient
from holdfast.errors import InvalidSetting


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8091",
        "http://localhost:8070",
        "http://[::1]:8070",
        "http://10.0.0.7",
        "https://gateway.example.org/api/v1",
        "http://gateway_1:80",
        "http://gateway",
    ],
)
def test_an_operator_may_name_any_machine_of_theirs(url):
    assert checked_url(f"{url}/", variable="GATEWAY_URL") == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "gateway:8070",
        "ftp://gateway",
        "file:///etc/passwd",
        "unix:///run/gateway.sock",
        "http+unix://gateway",
        "gopher://gateway",
        "http://",
        "http://:80",
        "http://gateway:0",
        "http://gateway:99999",
        "http://gateway:x",
        "http://user:hunter2@gateway",
        "http://127.0.0.1@gateway",
        "http://gateway#@127.0.0.1",
        "http://gateway/?to=elsewhere",
        "http://gateway/#part",
        "http://gateway/../other",
        "http://gateway/a b",
        "http://gate\nway",
        "http://gateway\\@127.0.0.1",
        "http://2130706433",
        "http://0x7f000001",
        "http://0x7f.1",
        "http://127.1",
        "http://0177.0.0.1",
        "http://127.0.0.1.",
        "http://127.0.0.256",
        "http://169.254.169.254/latest/meta-data",
        "http://[fe80::1]",
        "http://[::ffff:169.254.169.254]",
        "http://[64:ff9b::a9fe:a9fe]",
        "http://[2002:a9fe:a9fe::]",
        "http://[fd00:ec2::254]",
        "http://0.0.0.0:8070",
        "http://[::]:8070",
        "http://224.0.0.1",
        "http://[ff02::1]",
        "http://[v1.abc]",
        "http://a..b",
        "http://-gateway",
        "http://ｇａｔｅｗａｙ",
    ],
)
def test_what_is_no_address_of_a_gateway_is_refused_by_its_variable(url):
    with pytest.raises(InvalidSetting, match="GATEWAY_URL") as raised:
        checked_url(url, variable="GATEWAY_URL")

    assert "like http://127.0.0.1:8091" in str(raised.value)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "192.168.1.1", "93.184.216.34", "::1", "fd12::1"]
)
def test_machines_of_ours_and_of_others_are_admitted(address):
    admit(address)


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "fe80::1%eth0",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "0.0.0.0",
        "::",
        "224.0.0.1",
        "fd00:ec2::254",
    ],
)
def test_addresses_where_no_gateway_can_be_are_not_admitted(address):
    with pytest.raises(AddressRefused):
        admit(address)


def resolver(monkeypatch, *answers):
    """Have the system's resolver give these addresses for `gateway.test`, one answer a question."""
    asked = []
    of_the_system = socket.getaddrinfo

    def getaddrinfo(host, port, *rest, flags=0, **more):
        if host != "gateway.test":
            return of_the_system(host, port, *rest, flags=flags, **more)
        if flags & socket.AI_NUMERICHOST:
            raise socket.gaierror(socket.EAI_NONAME, "not a number")
        asked.append(host)
        found = answers[min(len(asked), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in found]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


def named(gateway):
    return GatewayClient(gateway.url.replace("127.0.0.1", "gateway.test"), timeout_s=10.0)


def test_a_name_is_resolved_once_and_what_was_looked_at_is_called(convert, gateway, monkeypatch):
    asked = resolver(monkeypatch, ["127.0.0.1"], ["169.254.169.254"])

    assert convert(named(gateway)) == XML
    assert len(asked) == 1


def test_a_name_that_leads_to_the_metadata_of_a_cloud_is_not_called(convert, gateway, monkeypatch):
    resolver(monkeypatch, ["169.254.169.254"])

    failure = failed(convert, named(gateway))

    assert failure.error_class == "GW_UNAVAILABLE"
    assert "no gateway can be" in failure.message


def test_a_name_with_one_bad_address_is_not_called_at_all(convert, gateway, monkeypatch):
    resolver(monkeypatch, ["127.0.0.1", "169.254.169.254"])

    assert failed(convert, named(gateway)).error_class == "GW_UNAVAILABLE"
    assert gateway.calls == []


def test_the_next_address_is_called_when_one_refuses(convert, gateway, monkeypatch):
    resolver(monkeypatch, ["127.0.0.2", "127.0.0.1"])

    assert convert(named(gateway)) == XML


def test_a_name_that_is_never_resolved_times_out(convert, monkeypatch):
    answered = threading.Event()

    def getaddrinfo(*_, flags=0, **__):
        if not flags & socket.AI_NUMERICHOST:
            answered.wait(30)
        raise socket.gaierror(socket.EAI_NONAME, "nobody knows")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    failure = failed(convert, GatewayClient("http://gateway.test", timeout_s=0.3))
    answered.set()

    assert failure.error_class == "GW_TIMEOUT"
