"""How each server is started for a row."""

import servers
from certificates import Certificate
from places import BENCH, SITE
from rows import Files, Row, Wire
from servers import Server

# What nginx is told to listen for.
_PROTOCOLS = {Wire.HTTP1: "", Wire.HTTPS1: "ssl", Wire.H2C: "http2", Wire.HTTPS2: "ssl http2"}


def of(row: Row, names: list[str], definitions: list[str], body: bytes, certificate: Certificate) -> list[Server]:
    """Those of the row that were asked for, then those of the command line."""
    known = {
        "nginx": lambda port: _nginx("nginx", port, "on", row, certificate),
        "nginx-copy": lambda port: _nginx("nginx-copy", port, "off", row, certificate),
        "millrace": lambda port: _millrace(port, "io_uring", row, certificate),
        "millrace-epoll": lambda port: _millrace(port, "epoll", row, certificate),
    }
    others = {"certificate": certificate.certificate, "key": certificate.key}
    return [
        *(Server(name, known[name], body) for name in row.servers if name in names),
        *(servers.added(definition, body, others) for definition in definitions),
    ]


def _nginx(name: str, port: int, sendfile: str, row: Row, certificate: Certificate) -> list[str]:
    tls = ""
    if row.wire.is_encrypted:
        tls = (BENCH / "tls" / "nginx.conf").read_text()
        tls = tls.replace("@certificate@", str(certificate.certificate)).replace("@key@", str(certificate.key))
    return servers.nginx_command(
        name, port, sendfile, SITE, _PROTOCOLS[row.wire], tls, has_brotli=row.files is Files.CODED)


def _millrace(port: int, backend: str, row: Row, certificate: Certificate) -> list[str]:
    address = f"127.0.0.1:{port}"
    listening = ["--listen", address]
    if row.wire.is_encrypted:
        listening = ["--https", address, "--cert", str(certificate.certificate), "--key", str(certificate.key)]
    return [str(servers.MILLRACE), str(SITE), *listening, "--reactors", "1", "--backend", backend]
