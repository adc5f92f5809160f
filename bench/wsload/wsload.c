// wsload: echoes of a WebSocket, as many as go.
//
//   wsload PORT TARGET CONNECTIONS SECONDS
//
// To 127.0.0.1. Each connection upgrades, then sends a text frame, awaits it, and sends the next. Any other answer ends the program. Prints
// one line of JSON.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EventsMax = 256, HeadBytesMax = 4096 };
// FIN and text; 5 bytes, masked by zeros, which leaves them as they are.
static const uint8_t Question[] = {0x81, 0x85, 0, 0, 0, 0, 'h', 'e', 'l', 'l', 'o'};
static const uint8_t Answer[] = {0x81, 0x05, 'h', 'e', 'l', 'l', 'o'};
// Of the sample key in RFC 6455, section 1.3.
static const char Key[] = "dGhlIHNhbXBsZSBub25jZQ==", Accept[] = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

struct connection {
    int fd;
    size_t received; // of the answer
};

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static void send_all(int fd, const void *bytes, size_t count) {
    if (send(fd, bytes, count, MSG_NOSIGNAL) != (ssize_t)count) err(1, "send");
}

static int dial(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) err(1, "connect");
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one)) err(1, "TCP_NODELAY");
    return fd;
}

static void upgrade(int fd, const char *target) {
    char head[HeadBytesMax];
    int written = snprintf(head, sizeof head,
        "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n", target, Key);
    send_all(fd, head, written);
    size_t bytes = 0;
    do {
        ssize_t got = recv(fd, head + bytes, sizeof head - 1 - bytes, 0);
        if (got <= 0) errx(1, "the connection ended before it was upgraded");
        bytes += got;
        head[bytes] = 0;
    } while (!strstr(head, "\r\n\r\n"));
    if (strncmp(head, "HTTP/1.1 101 ", 13) || !strstr(head, Accept)) errx(1, "not upgraded: %s", head);
}

// Whether the whole answer has come.
static int take(struct connection *c) {
    uint8_t bytes[sizeof Answer];
    ssize_t got = recv(c->fd, bytes, sizeof Answer - c->received, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return 0;
    if (got <= 0) errx(1, "the connection ended");
    if (memcmp(bytes, Answer + c->received, got)) errx(1, "another frame came back");
    c->received += got;
    if (c->received < sizeof Answer) return 0;
    c->received = 0;
    return 1;
}

static void allow_descriptors(int howMany) {
    struct rlimit limit = {.rlim_cur = howMany + 64, .rlim_max = howMany + 64}, have;
    if (getrlimit(RLIMIT_NOFILE, &have) || (have.rlim_cur < limit.rlim_cur && setrlimit(RLIMIT_NOFILE, &limit))) err(1, "descriptors");
}

int main(int argc, char **argv) {
    if (argc != 5) errx(2, "usage: wsload PORT TARGET CONNECTIONS SECONDS");
    int port = atoi(argv[1]), howMany = atoi(argv[3]), seconds = atoi(argv[4]);
    if (howMany < 1 || seconds < 1) errx(2, "an argument is out of range");
    allow_descriptors(howMany);
    struct connection *connections = calloc(howMany, sizeof *connections);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!connections || epoll < 0) err(1, "epoll");
    for (int i = 0; i < howMany; i++) {
        connections[i].fd = dial(port);
        upgrade(connections[i].fd, argv[2]);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[i]};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, connections[i].fd, &event)) err(1, "epoll_ctl");
    }

    uint64_t answered = 0;
    double began = now_s(), ends = began + seconds;
    for (int i = 0; i < howMany; i++) send_all(connections[i].fd, Question, sizeof Question);
    while (now_s() < ends) {
        struct epoll_event events[EventsMax];
        int ready = epoll_wait(epoll, events, EventsMax, 100);
        if (ready < 0 && errno != EINTR) err(1, "epoll_wait");
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            if (!take(c)) continue;
            answered++;
            send_all(c->fd, Question, sizeof Question);
        }
    }
    printf("{\"requests\": %lu, \"seconds\": %.3f}\n", answered, now_s() - began);
}
