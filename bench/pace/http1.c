// HTTP/1.1: several requests at once are pipelined, and all answers must have the length of the first one.

#define _GNU_SOURCE
#include "pace.h"
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RequestBytesMax = 4096, ReplyBytesMax = 1 << 16 };

static char requests[RequestBytesMax * DepthMax];
static size_t requestBytes, replyBytes;

// Whether the bytes are a whole answer: with a length, or in chunks up to the last.
static int is_whole(const char *reply, size_t bytes) {
    const char *end = memmem(reply, bytes, "\r\n\r\n", 4);
    if (!end) return 0;
    size_t headBytes = end + 4 - reply;
    const char *length = memmem(reply, headBytes, "Content-Length: ", 16);
    if (length) return bytes >= headBytes + strtoul(length + 16, NULL, 10);
    return bytes - headBytes >= 5 && !memcmp(reply + bytes - 5, "0\r\n\r\n", 5);
}

static void learn_reply(void) {
    static char reply[ReplyBytesMax];
    struct wire wire;
    wire_dial(&wire);
    wire_send(&wire, requests, requestBytes);
    while (!is_whole(reply, replyBytes)) {
        if (replyBytes == sizeof reply) errx(1, "an answer is longer than %zu bytes", sizeof reply);
        size_t received = wire_receive(&wire, reply + replyBytes, sizeof reply - replyBytes);
        if (!received) wire_wait(&wire);
        replyBytes += received;
    }
    if (strncmp(reply, "HTTP/1.1 200 ", 13)) errx(1, "answered with %.40s", reply);
    wire_close(&wire);
}

static void prepare(const char *target, int depth) {
    requestBytes = snprintf(requests, RequestBytesMax, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", target);
    learn_reply();
    for (int i = 1; i < depth; i++) memcpy(requests + i * requestBytes, requests, requestBytes);
}

static void begin(struct connection *c) { (void)c; }

static void ask(struct connection *c, int depth) { wire_send(&c->wire, requests, requestBytes * depth); }

static void take(struct connection *c, const uint8_t *bytes, size_t count) {
    (void)bytes;
    for (c->partBytes += count; c->partBytes >= replyBytes; c->partBytes -= replyBytes) {
        if (c->asked == c->answered) errx(1, "more answers than requests: their lengths differ");
        take_answer(c, c->answered);
    }
}

const struct protocol Http1 = {"http", 0, NULL, prepare, begin, ask, take};
const struct protocol Https1 = {"https", 1, "\x08http/1.1", prepare, begin, ask, take};
