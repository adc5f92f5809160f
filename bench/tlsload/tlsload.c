// tlsload: a new TLS connection for each request, as fast as the server goes.
//
//   tlsload PORT TARGET FILE CONNECTIONS SECONDS full|resumed
//
// HTTPS/1.1 to 127.0.0.1, by TLS 1.3 with TLS_AES_128_GCM_SHA256 over X25519 and nothing else, so that the server has no choice. So many
// connections at a time each make their handshake, ask for TARGET, and must be answered with the bytes of FILE, a close_notify and the end;
// then another takes the place. With "resumed" each offers the ticket that its predecessor in the place was given, once, as RFC 8446
// (C.4) has it, and must be resumed; the first in a place makes a full handshake and is not counted. With "full" none may be resumed.
// Times are from connect to the whole answer. Prints one line of JSON; what was not as it should be is counted there by kind.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HeadBytesMax = 4096, FileBytesMax = 1 << 20, EventsMax = 256, PatienceMs = 5000, FailuresMax = 1000 };
static const int64_t SecondNs = 1000000000;
static const char Suite[] = "TLS_AES_128_GCM_SHA256";

enum phase { Handshaking, Asking, Receiving };

// A place: its connections come one after another.
struct place {
    SSL *ssl;
    SSL_SESSION *session; // what the next one resumes
    int fd, isFirst;
    enum phase phase;
    int64_t startNs;
    size_t receivedBytes;
    char reply[HeadBytesMax + FileBytesMax];
};

static struct {
    uint32_t requests, handshake, resumption, suite, reply, end;
} counted;
static SSL_CTX *context;
static struct sockaddr_in address = {.sin_family = AF_INET};
static char file[FileBytesMax], request[1024];
static size_t fileBytes;
static int requestBytes, epoll, isResuming, openCount;
static uint32_t *times, timesMax;
static int64_t endNs;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SecondNs + now.tv_nsec;
}

// A ticket has come: the newest is kept. 1: its reference is ours.
static int keep_session(SSL *ssl, SSL_SESSION *session) {
    struct place *place = SSL_get_app_data(ssl);
    SSL_SESSION_free(place->session);
    place->session = session;
    return 1;
}

static void dial(struct place *place) {
    int on = 1;
    place->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    place->ssl = SSL_new(context);
    if (place->fd < 0 || !place->ssl || SSL_set_fd(place->ssl, place->fd) != 1) err(1, "a connection");
    if (setsockopt(place->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)) err(1, "TCP_NODELAY");
    SSL_set_app_data(place->ssl, place);
    SSL_set_connect_state(place->ssl);
    SSL_set_tlsext_host_name(place->ssl, "localhost");
    if (isResuming && place->session) SSL_set_session(place->ssl, place->session);
    place->phase = Handshaking;
    place->receivedBytes = 0;
    place->startNs = now_ns();
    openCount++;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = place};
    if (connect(place->fd, (struct sockaddr *)&address, sizeof address) && errno != EINPROGRESS) err(1, "connect");
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, place->fd, &event)) err(1, "epoll_ctl");
}

// The connection has ended, well or not; another takes its place while there is time.
static void end(struct place *place) {
    // A session whose connection was not shut down would not be resumable. Nothing is sent: the server has closed already.
    SSL_set_shutdown(place->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(place->ssl);
    close(place->fd);
    place->isFirst = 0;
    openCount--;
    if (now_ns() < endNs) dial(place);
}

static void fail(struct place *place, uint32_t *kind) {
    // What fails always would be tried for ever.
    if (++*kind > FailuresMax) endNs = 0;
    end(place);
}

static void check_handshake(const struct place *place) {
    int mustResume = isResuming && !place->isFirst;
    counted.resumption += SSL_session_reused(place->ssl) != mustResume;
    counted.suite += strcmp(SSL_get_cipher_name(place->ssl), Suite) || SSL_get_negotiated_group(place->ssl) != NID_X25519;
}

static int is_right(const struct place *place) {
    const char *headEnd = memmem(place->reply, place->receivedBytes, "\r\n\r\n", 4);
    if (!headEnd || strncmp(place->reply, "HTTP/1.1 200 ", 13)) return 0;
    size_t headBytes = headEnd + 4 - place->reply;
    return place->receivedBytes == headBytes + fileBytes && !memcmp(place->reply + headBytes, file, fileBytes);
}

static void finish(struct place *place) {
    if (!is_right(place)) {
        fail(place, &counted.reply);
        return;
    }
    if (!(isResuming && place->isFirst)) {
        if (counted.requests == timesMax) times = realloc(times, (timesMax = timesMax ? 2 * timesMax : 1 << 16) * sizeof *times);
        if (!times) err(1, "times");
        times[counted.requests++] = (now_ns() - place->startNs) / 1000;
    }
    end(place);
}

// As far as the socket lets the connection go.
static void drive(struct place *place) {
    if (place->phase == Handshaking) {
        int done = SSL_do_handshake(place->ssl);
        if (done != 1) {
            int why = SSL_get_error(place->ssl, done);
            if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) fail(place, &counted.handshake);
            return;
        }
        check_handshake(place);
        place->phase = Asking;
    }
    if (place->phase == Asking) {
        // It fits into any send buffer, which is empty.
        if (SSL_write(place->ssl, request, requestBytes) != requestBytes) {
            fail(place, &counted.end);
            return;
        }
        place->phase = Receiving;
    }
    for (;;) {
        size_t room = sizeof place->reply - place->receivedBytes;
        int received = SSL_read(place->ssl, place->reply + place->receivedBytes, room);
        if (received > 0) {
            place->receivedBytes += received;
            continue;
        }
        switch (SSL_get_error(place->ssl, received)) {
        case SSL_ERROR_WANT_READ: return;
        case SSL_ERROR_ZERO_RETURN: finish(place); return;
        default: fail(place, &counted.end); return; // Cut off, without a close_notify; or longer than any right answer.
        }
    }
}

static void run_until_all_ended(void) {
    while (openCount) {
        struct epoll_event events[EventsMax];
        int ready = epoll_wait(epoll, events, EventsMax, PatienceMs);
        if (ready == 0) errx(1, "%d connections waited for %d ms in vain", openCount, PatienceMs);
        if (ready < 0 && errno != EINTR) err(1, "epoll_wait");
        for (int i = 0; i < ready; i++) drive(events[i].data.ptr);
    }
}

static void make_context(void) {
    context = SSL_CTX_new(TLS_client_method());
    if (!context || !SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) || !SSL_CTX_set_ciphersuites(context, Suite) ||
        !SSL_CTX_set1_groups_list(context, "X25519") || SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\x08http/1.1", 9))
        errx(1, "OpenSSL does not take the settings");
    // Whose certificate it is does not matter here; that its key signed the handshake is checked all the same.
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    if (isResuming) SSL_CTX_sess_set_new_cb(context, keep_session);
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc != 7) errx(2, "usage: tlsload PORT TARGET FILE CONNECTIONS SECONDS full|resumed");
    int howMany = atoi(argv[4]), seconds = atoi(argv[5]);
    isResuming = !strcmp(argv[6], "resumed");
    if (howMany < 1 || seconds < 1 || (!isResuming && strcmp(argv[6], "full"))) errx(2, "an argument is out of range");
    address.sin_port = htons(atoi(argv[1]));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    requestBytes = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", argv[2]);
    FILE *expected = fopen(argv[3], "r");
    if (!expected) err(1, "%s", argv[3]);
    fileBytes = fread(file, 1, sizeof file, expected);
    make_context();

    struct place *places = calloc(howMany, sizeof *places);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!places || epoll < 0) err(1, "setup");
    int64_t startNs = now_ns();
    endNs = startNs + seconds * SecondNs;
    for (int i = 0; i < howMany; i++) {
        places[i].isFirst = 1;
        dial(&places[i]);
    }
    run_until_all_ended();
    double took = (double)(now_ns() - startNs) / SecondNs;

    qsort(times, counted.requests, sizeof *times, ascending);
    uint32_t none = 0, *p50 = counted.requests ? &times[counted.requests / 2] : &none;
    uint32_t *p99 = counted.requests ? &times[(uint64_t)counted.requests * 99 / 100] : &none;
    printf("{\"requests\": %u, \"seconds\": %.3f, \"p50_us\": %u, \"p99_us\": %u, \"handshake\": %u, \"resumption\": %u, "
           "\"suite\": %u, \"reply\": %u, \"end\": %u}\n",
           counted.requests, took, *p50, *p99, counted.handshake, counted.resumption, counted.suite, counted.reply, counted.end);
}
