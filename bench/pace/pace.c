// pace: requests at a fixed rate, and how long each took from when it was due.
//
//   pace PORT TARGET CONNECTIONS RATE SECONDS DEPTH
//
// HTTP/1.1 in the clear to 127.0.0.1. Every 1/RATE-th of a second the next connection in turn asks, DEPTH requests at once where that
// is above 1, whether or not it has its last answer: a server that stalls is not asked less, and all that was due meanwhile counts with
// its wait. All answers must have the length of the first one. A second goes by before anything is counted. Prints one line of JSON.

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
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { WaitingMax = 4096, EventsMax = 256, ReplyBytesMax = 1 << 16, DepthMax = 64 };
static const int64_t SecondNs = 1000000000, WarmUpNs = 1000000000;

struct connection {
    int fd;
    size_t partBytes;         // of the answer that is coming in
    uint32_t asked, answered; // their difference waits
    int64_t dueNs[WaitingMax];
};

static struct connection *connections;
static uint32_t *times, timesCount, timesMax;
static char request[4096 * DepthMax], scratch[1 << 18];
static size_t requestBytes, replyBytes;
static int64_t countFromNs, endNs;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SecondNs + now.tv_nsec;
}

static int dial(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) err(1, "connect");
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)) err(1, "TCP_NODELAY");
    struct timeval patience = {.tv_sec = 10};
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience)) err(1, "SO_RCVTIMEO");
    return fd;
}

// Whether the bytes are a whole answer: with a length, or in chunks up to the last.
static int is_whole(const char *reply, size_t bytes) {
    const char *end = memmem(reply, bytes, "\r\n\r\n", 4);
    if (!end) return 0;
    size_t headBytes = end + 4 - reply;
    const char *length = memmem(reply, headBytes, "Content-Length: ", 16);
    if (length) return bytes >= headBytes + strtoul(length + 16, NULL, 10);
    return bytes - headBytes >= 5 && !memcmp(reply + bytes - 5, "0\r\n\r\n", 5);
}

static void learn_reply(int port, size_t oneBytes) {
    static char reply[ReplyBytesMax];
    int fd = dial(port);
    if (send(fd, request, oneBytes, 0) != (ssize_t)oneBytes) err(1, "send");
    while (!is_whole(reply, replyBytes)) {
        ssize_t received = recv(fd, reply + replyBytes, sizeof reply - replyBytes, 0);
        if (received <= 0) errx(1, "no whole answer: %.*s", (int)replyBytes, reply);
        replyBytes += received;
    }
    if (strncmp(reply, "HTTP/1.1 200 ", 13)) errx(1, "answered with %.40s", reply);
    close(fd);
}

static void count(int64_t dueNs, int64_t nowNs) {
    if (dueNs >= countFromNs && dueNs < endNs && timesCount < timesMax) times[timesCount++] = (nowNs - dueNs) / 1000;
}

static void ask(struct connection *c, int64_t dueNs, int depth) {
    for (int i = 0; i < depth; i++) c->dueNs[c->asked++ % WaitingMax] = dueNs;
    if (c->asked - c->answered > WaitingMax - DepthMax) errx(1, "a connection waits for %u answers", c->asked - c->answered);
    if (send(c->fd, request, requestBytes, MSG_DONTWAIT) != (ssize_t)requestBytes) err(1, "send");
}

static void receive(struct connection *c) {
    ssize_t received = recv(c->fd, scratch, sizeof scratch, MSG_DONTWAIT);
    if (received < 0 && errno == EAGAIN) return;
    if (received <= 0) errx(1, "a connection ended: %s", received ? strerror(errno) : "FIN");
    int64_t nowNs = now_ns();
    for (c->partBytes += received; c->partBytes >= replyBytes; c->partBytes -= replyBytes) {
        if (c->asked == c->answered) errx(1, "more answers than requests: their lengths differ");
        count(c->dueNs[c->answered++ % WaitingMax], nowNs);
    }
}

// Until the next request is due, or something can be received.
static void wait_until(int epoll, int64_t dueNs) {
    struct epoll_event events[EventsMax];
    int64_t leftNs = dueNs - now_ns();
    struct timespec timeout = {.tv_sec = leftNs > 0 ? leftNs / SecondNs : 0, .tv_nsec = leftNs > 0 ? leftNs % SecondNs : 0};
    int ready = epoll_pwait2(epoll, events, EventsMax, &timeout, NULL);
    if (ready < 0 && errno != EINTR) err(1, "epoll_pwait2");
    for (int i = 0; i < ready; i++) receive(events[i].data.ptr);
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc != 7) errx(2, "usage: pace PORT TARGET CONNECTIONS RATE SECONDS DEPTH");
    int port = atoi(argv[1]), howMany = atoi(argv[3]), seconds = atoi(argv[5]), depth = atoi(argv[6]);
    double rate = atof(argv[4]);
    if (howMany < 1 || rate < 1 || seconds < 1 || depth < 1 || depth > DepthMax) errx(2, "a number is out of range");
    struct rlimit descriptors = {.rlim_cur = howMany + 64, .rlim_max = howMany + 64};
    struct rlimit have;
    if (getrlimit(RLIMIT_NOFILE, &have) || (have.rlim_cur < descriptors.rlim_cur && setrlimit(RLIMIT_NOFILE, &descriptors)))
        err(1, "descriptors");
    // The default slack of 50 us would be in every figure.
    if (prctl(PR_SET_TIMERSLACK, 1)) err(1, "timer slack");

    size_t oneBytes = snprintf(request, 4096, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", argv[2]);
    learn_reply(port, oneBytes);
    for (int i = 1; i < depth; i++) memcpy(request + i * oneBytes, request, oneBytes);
    requestBytes = oneBytes * depth;
    timesMax = rate * seconds + howMany + depth;
    times = calloc(timesMax, sizeof *times);
    connections = calloc(howMany, sizeof *connections);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!times || !connections || epoll < 0) err(1, "setup");
    for (int i = 0; i < howMany; i++) {
        connections[i].fd = dial(port);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[i]};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, connections[i].fd, &event)) err(1, "epoll_ctl");
    }

    int64_t startNs = now_ns();
    countFromNs = startNs + WarmUpNs;
    endNs = countFromNs + seconds * SecondNs;
    double intervalNs = SecondNs * depth / rate;
    for (uint64_t turn = 0;; turn++) {
        int64_t dueNs = startNs + (int64_t)(turn * intervalNs);
        if (dueNs >= endNs) break;
        while (now_ns() < dueNs) wait_until(epoll, dueNs);
        // Late already: what has come in is looked at all the same, or a burst would look slower than it was.
        wait_until(epoll, 0);
        ask(&connections[turn % howMany], dueNs, depth);
    }
    while (now_ns() < endNs) wait_until(epoll, endNs);
    wait_until(epoll, 0);

    uint32_t answered = timesCount;
    for (int i = 0; i < howMany; i++)
        while (connections[i].answered != connections[i].asked) count(connections[i].dueNs[connections[i].answered++ % WaitingMax], endNs);
    if (!timesCount) errx(1, "nothing was counted");
    qsort(times, timesCount, sizeof *times, ascending);
    printf("{\"requests\": %u, \"seconds\": %d, \"p50_us\": %u, \"p99_us\": %u, \"max_us\": %u}\n", answered, seconds,
           times[timesCount / 2], times[(uint64_t)timesCount * 99 / 100], times[timesCount - 1]);
}
