// What the parts of pace know of each other.

#pragma once
#include <openssl/ssl.h>
#include <stddef.h>
#include <stdint.h>

enum { WaitingMax = 4096, DepthMax = 64, TargetBytesMax = 100, FrameHeadBytes = 9 };

// A connected socket, and what encrypts on it, if anything does.
struct wire {
    int fd;
    SSL *ssl;
};

// A request has a number, counted from 0 for each connection, and a time when it was due, which is 0 once it is answered.
struct connection {
    struct wire wire;
    uint32_t asked, answered; // how many
    int64_t dueNs[WaitingMax];
    // HTTP/1.1: of the answer that is coming in.
    size_t partBytes;
    // HTTP/2: how many of those asked were sent, what each one's body has so far, and the frame that is coming in.
    uint32_t sent;
    uint32_t bodyBytes[WaitingMax];
    uint8_t frameHead[FrameHeadBytes], payloadFirst;
    size_t frameHeadBytes, payloadBytesLeft;
};

// How requests and answers are written.
struct protocol {
    const char *name;
    int isEncrypted;
    const char *alpn; // as it is offered: a byte of length, then the name
    // Once, before any other: it may ask once by a connection of its own.
    void (*prepare)(const char *target, int depth);
    void (*begin)(struct connection *);
    // Sends the last `depth` of those that were asked, as soon as the server lets it.
    void (*ask)(struct connection *, int depth);
    // Bytes have come: each request that is answered with them goes to take_answer.
    void (*take)(struct connection *, const uint8_t *bytes, size_t count);
};

extern const struct protocol Http1, Https1, Https2;

// Each ends the program, with its reason, where the wire does not do what it should.
void wire_prepare(int port, const struct protocol *);
void wire_dial(struct wire *);
void wire_send(struct wire *, const void *bytes, size_t count);
// What is there, and 0 where nothing is.
size_t wire_receive(struct wire *, void *bytes, size_t room);
// Whether more may be there that epoll does not tell of.
int wire_holds_more(const struct wire *);
// Until something can be received; what wire_receive has left must have been received before.
void wire_wait(const struct wire *);
void wire_close(struct wire *);

void take_answer(struct connection *, uint32_t request);
