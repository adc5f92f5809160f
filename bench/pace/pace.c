// pace: requests at a fixed rate, and how long each took from when it was due.
//
//   pace http|https|https2 PORT TARGET CONNECTIONS RATE SECONDS DEPTH
//
// To 127.0.0.1, by HTTP/1.1 in the clear, HTTP/1.1 over TLS or HTTP/2 over TLS. Every 1/RATE-th of a second the next connection in turn
// asks, DEPTH requests at once where that is above 1, whether or not it has its last answer: a server that stalls is not asked less, and
// all that was due meanwhile counts with its wait. A second goes by before anything is counted. Prints one line of JSON.

#define _GNU_SOURCE
#include "pace.h"
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

enum { EventsMax = 256 };
// What is due behind the end is asked and not counted, so that what is due shortly before it meets no idle server, and has time to come.
static const int64_t SecondNs = 1000000000, WarmUpNs = 1000000000, TailNs = 500000000;
static const struct protocol *const Protocols[] = {&Http1, &Https1, &Https2};

static const struct protocol *protocol;
static struct connection *connections;
static uint32_t *times, timesCount, timesMax;
static uint8_t scratch[1 << 18];
static int64_t countFromNs, endNs, receivedNs;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SecondNs + now.tv_nsec;
}

static void count(int64_t dueNs, int64_t nowNs) {
    if (dueNs >= countFromNs && dueNs < endNs && timesCount < timesMax) times[timesCount++] = (nowNs - dueNs) / 1000;
}

void take_answer(struct connection *c, uint32_t request) {
    int64_t *dueNs = &c->dueNs[request % WaitingMax];
    if (request >= c->asked || !*dueNs) errx(1, "request %u is answered, and was not asked", request);
    count(*dueNs, receivedNs);
    *dueNs = 0;
    c->answered++;
}

static void ask(struct connection *c, int64_t dueNs, int depth) {
    for (int i = 0; i < depth; i++) {
        int64_t *slot = &c->dueNs[(c->asked + i) % WaitingMax];
        if (*slot) errx(1, "a connection waits for an answer that %d others came behind", WaitingMax);
        *slot = dueNs;
    }
    c->asked += depth;
    protocol->ask(c, depth);
}

static void receive(struct connection *c) {
    do {
        size_t received = wire_receive(&c->wire, scratch, sizeof scratch);
        receivedNs = now_ns();
        protocol->take(c, scratch, received);
        if (!received) return;
    } while (wire_holds_more(&c->wire));
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

static void allow_descriptors(int howMany) {
    struct rlimit descriptors = {.rlim_cur = howMany + 64, .rlim_max = howMany + 64}, have;
    if (getrlimit(RLIMIT_NOFILE, &have) || (have.rlim_cur < descriptors.rlim_cur && setrlimit(RLIMIT_NOFILE, &descriptors)))
        err(1, "descriptors");
}

static const struct protocol *named(const char *name) {
    for (size_t i = 0; i < sizeof Protocols / sizeof *Protocols; i++)
        if (!strcmp(Protocols[i]->name, name)) return Protocols[i];
    errx(2, "'%s' is not http, https or https2", name);
}

static int connect_all(int howMany) {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) err(1, "epoll_create1");
    for (int i = 0; i < howMany; i++) {
        struct connection *c = &connections[i];
        wire_dial(&c->wire);
        protocol->begin(c);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->wire.fd, &event)) err(1, "epoll_ctl");
    }
    return epoll;
}

// What is not answered by now has waited until now at least.
static void count_waiting(int howMany) {
    int64_t nowNs = now_ns();
    for (int i = 0; i < howMany; i++)
        for (int j = 0; j < WaitingMax; j++)
            if (connections[i].dueNs[j]) count(connections[i].dueNs[j], nowNs);
}

int main(int argc, char **argv) {
    if (argc != 8) errx(2, "usage: pace http|https|https2 PORT TARGET CONNECTIONS RATE SECONDS DEPTH");
    protocol = named(argv[1]);
    int port = atoi(argv[2]), howMany = atoi(argv[4]), seconds = atoi(argv[6]), depth = atoi(argv[7]);
    const char *target = argv[3];
    double rate = atof(argv[5]);
    if (howMany < 1 || rate < 1 || seconds < 1 || depth < 1 || depth > DepthMax || strlen(target) > TargetBytesMax)
        errx(2, "an argument is out of range");
    allow_descriptors(howMany);
    // The default slack of 50 us would be in every figure.
    if (prctl(PR_SET_TIMERSLACK, 1)) err(1, "timer slack");

    wire_prepare(port, protocol);
    protocol->prepare(target, depth);
    timesMax = rate * seconds + howMany + depth;
    times = calloc(timesMax, sizeof *times);
    connections = calloc(howMany, sizeof *connections);
    if (!times || !connections) err(1, "memory");
    int epoll = connect_all(howMany);

    int64_t startNs = now_ns();
    countFromNs = startNs + WarmUpNs;
    endNs = countFromNs + seconds * SecondNs;
    double intervalNs = SecondNs * depth / rate;
    uint32_t answered = 0; // by the end
    for (uint64_t turn = 0;; turn++) {
        int64_t dueNs = startNs + (int64_t)(turn * intervalNs);
        if (dueNs >= endNs && !answered) answered = timesCount;
        if (dueNs >= endNs + TailNs) break;
        while (now_ns() < dueNs) wait_until(epoll, dueNs);
        // Late already: what has come in is looked at all the same, or a burst would look slower than it was.
        wait_until(epoll, 0);
        ask(&connections[turn % howMany], dueNs, depth);
    }
    wait_until(epoll, 0);
    count_waiting(howMany);
    if (!timesCount) errx(1, "nothing was counted");
    qsort(times, timesCount, sizeof *times, ascending);
    printf("{\"requests\": %u, \"seconds\": %d, \"p50_us\": %u, \"p99_us\": %u, \"max_us\": %u}\n", answered, seconds,
           times[timesCount / 2], times[(uint64_t)timesCount * 99 / 100], times[timesCount - 1]);
}
