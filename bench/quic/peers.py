"""How each server is started."""

import servers
from certificates import Certificate
from places import SITE
from servers import Server

NAMES = ["millrace", "millrace-epoll", "millrace-http2", "caddy", "ngtcp2"]


def of(names: list[str], definitions: list[str], certificate: Certificate, address: str) -> list[Server]:
    """Those that were asked for, then those of the command line."""
    known = {
        "millrace": lambda port: _millrace(address, port, "io_uring", certificate),
        "millrace-epoll": lambda port: _millrace(address, port, "epoll", certificate),
        # The same program, asked over TCP.
        "millrace-http2": lambda port: _millrace(address, port, "io_uring", certificate),
        "caddy": lambda port: _caddy(address, port, certificate),
        "ngtcp2": lambda port: [
            "gtlsserver", "-q", "-d", str(SITE), address, str(port), str(certificate.key), str(certificate.certificate)],
    }
    others = {"certificate": certificate.certificate, "key": certificate.key, "address": address}
    return [
        *(Server(name, known[name], b"") for name in names),
        *(servers.added(definition, b"", others) for definition in definitions),
    ]


def _millrace(address: str, port: int, backend: str, certificate: Certificate) -> list[str]:
    return [str(servers.MILLRACE), str(SITE), "--https", f"{address}:{port}", "--http3", "on", "--cert", str(certificate.certificate),
            "--key", str(certificate.key), "--reactors", "1", "--backend", backend]


def _caddy(address: str, port: int, certificate: Certificate) -> list[str]:
    configuration = servers.configure("caddy-http3", "Caddyfile.http3", {
        "address": address, "port": port, "root": SITE, "certificate": certificate.certificate, "key": certificate.key})
    # It keeps what it was told last in its home.
    return ["env", f"HOME={configuration.parent}", "caddy", "run", "--config", str(configuration), "--adapter", "caddyfile"]
