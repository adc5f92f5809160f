// The bytes of a connection, in the clear or by TLS.

#define _GNU_SOURCE
#include "pace.h"
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PatienceMs = 10000 };

static struct sockaddr_in address = {.sin_family = AF_INET};
static SSL_CTX *context;
static const char *offered;

// Of the last call that failed, in the clear or by TLS.
static const char *reason(void) {
    unsigned long error = ERR_get_error();
    return error ? ERR_error_string(error, NULL) : strerror(errno);
}

void wire_prepare(int port, const struct protocol *protocol) {
    // OpenSSL writes without MSG_NOSIGNAL.
    signal(SIGPIPE, SIG_IGN);
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!protocol->isEncrypted) return;
    context = SSL_CTX_new(TLS_client_method());
    offered = protocol->alpn;
    if (!context || SSL_CTX_set_alpn_protos(context, (const unsigned char *)offered, strlen(offered)))
        errx(1, "OpenSSL does not take the settings");
    // Whose certificate it is does not matter here.
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
    // One system call for a record, not one for its head and another for the rest.
    SSL_CTX_set_read_ahead(context, 1);
}

static void agree(struct wire *wire) {
    wire->ssl = SSL_new(context);
    if (!wire->ssl || SSL_set_fd(wire->ssl, wire->fd) != 1 || SSL_connect(wire->ssl) != 1) errx(1, "handshake: %s", reason());
    const unsigned char *chosen;
    unsigned chosenBytes;
    SSL_get0_alpn_selected(wire->ssl, &chosen, &chosenBytes);
    if (chosenBytes + 1 != strlen(offered) || memcmp(chosen, offered + 1, chosenBytes))
        errx(1, "the server does not speak %s", offered + 1);
}

void wire_dial(struct wire *wire) {
    int on = 1;
    struct timeval patience = {.tv_sec = PatienceMs / 1000};
    wire->ssl = NULL;
    wire->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (wire->fd < 0 || connect(wire->fd, (struct sockaddr *)&address, sizeof address)) err(1, "connect");
    if (setsockopt(wire->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)) err(1, "TCP_NODELAY");
    if (setsockopt(wire->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience)) err(1, "SO_RCVTIMEO");
    if (context) agree(wire);
    if (fcntl(wire->fd, F_SETFL, O_NONBLOCK)) err(1, "O_NONBLOCK");
}

void wire_send(struct wire *wire, const void *bytes, size_t count) {
    ssize_t sent = wire->ssl ? SSL_write(wire->ssl, bytes, count) : send(wire->fd, bytes, count, 0);
    if (sent < 0) errx(1, "send: %s", reason());
    if (sent != (ssize_t)count) errx(1, "%zd of %zu bytes were sent: the server does not read", sent, count);
}

static size_t receive_encrypted(struct wire *wire, void *bytes, size_t room) {
    int received = SSL_read(wire->ssl, bytes, room);
    if (received > 0) return received;
    int why = SSL_get_error(wire->ssl, received);
    if (why != SSL_ERROR_WANT_READ) errx(1, "a connection ended: %s", why == SSL_ERROR_ZERO_RETURN ? "close_notify" : reason());
    return 0;
}

size_t wire_receive(struct wire *wire, void *bytes, size_t room) {
    if (wire->ssl) return receive_encrypted(wire, bytes, room);
    ssize_t received = recv(wire->fd, bytes, room, 0);
    if (received < 0 && errno == EAGAIN) return 0;
    if (received <= 0) errx(1, "a connection ended: %s", received ? strerror(errno) : "FIN");
    return received;
}

int wire_holds_more(const struct wire *wire) { return wire->ssl && SSL_has_pending(wire->ssl); }

void wire_wait(const struct wire *wire) {
    struct pollfd room = {.fd = wire->fd, .events = POLLIN};
    if (poll(&room, 1, PatienceMs) != 1) errx(1, "no answer for %d ms", PatienceMs);
}

void wire_close(struct wire *wire) {
    SSL_free(wire->ssl);
    close(wire->fd);
}
