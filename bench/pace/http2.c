// HTTP/2 over TLS: several requests at once are streams. A client that asks always the same needs no table of fields: each head is the
// same bytes (RFC 7541, 6.1 and 6.2.2), and of the answers only the status is read, how long the body is and where the stream ends.

#include "pace.h"
#include <err.h>
#include <string.h>

enum frame { Data = 0, Headers = 1, ResetStream = 3, Settings = 4, Ping = 6, GoAway = 7, WindowUpdate = 8 };
enum flag { Ack = 1, EndStream = 1, EndHeaders = 4 };
enum { IndexedGet = 0x82, IndexedHttps = 0x87, IndexedOk = 0x88, LiteralPath = 0x04, LiteralAuthority = 0x01, InitialWindowSize = 4 };
enum { StreamMask = 0x7fffffff };
enum { FieldBytesMax = TargetBytesMax + 32, WindowBytesMax = 0x7fffffff, FirstWindowBytes = 65535 };

static const char Preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Authority[] = "127.0.0.1";
static uint8_t fields[FieldBytesMax];
static size_t fieldBytes;
static uint32_t firstBodyBytes, streamsMax;

static void put_u32(uint8_t *at, uint32_t value) {
    for (int i = 0; i < 4; i++) at[i] = value >> (24 - 8 * i);
}

static uint32_t get_u32(const uint8_t *at) { return (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3]; }

static size_t put_frame(uint8_t *at, enum frame type, int flags, uint32_t stream, const uint8_t *payload, size_t count) {
    put_u32(at, count << 8 | type);
    at[4] = flags;
    put_u32(at + 5, stream);
    if (count) memcpy(at + FrameHeadBytes, payload, count);
    return FrameHeadBytes + count;
}

static size_t put_literal(uint8_t *at, uint8_t name, const char *value) {
    size_t count = strlen(value);
    at[0] = name;
    at[1] = count; // Not coded, and shorter than 127: it has a byte for its length.
    memcpy(at + 2, value, count);
    return 2 + count;
}

static void prepare(const char *target, int depth) {
    streamsMax = depth;
    fields[0] = IndexedGet;
    fields[1] = IndexedHttps;
    fieldBytes = 2;
    fieldBytes += put_literal(fields + fieldBytes, LiteralPath, target);
    fieldBytes += put_literal(fields + fieldBytes, LiteralAuthority, Authority);
}

// Windows as large as can be, so that none has to be opened again: 2 GiB are more than a connection is measured with.
static void begin(struct connection *c) {
    uint8_t bytes[128], window[6] = {0, InitialWindowSize};
    size_t count = sizeof Preface - 1;
    memcpy(bytes, Preface, count);
    put_u32(window + 2, WindowBytesMax);
    count += put_frame(bytes + count, Settings, 0, 0, window, sizeof window);
    put_u32(window, WindowBytesMax - FirstWindowBytes);
    count += put_frame(bytes + count, WindowUpdate, 0, 0, window, 4);
    wire_send(&c->wire, bytes, count);
}

// A connection has so many streams as it asks for at once, as under the full load that the rate is half of: what is due beyond waits here,
// and counts so. Were there all that a server allows (100 and more), one that fell behind would have ten times the requests at hand that
// it was measured with, and each would cost twice as much.
static void send_due(struct connection *c) {
    uint8_t bytes[(FrameHeadBytes + FieldBytesMax) * DepthMax];
    size_t count = 0;
    for (; c->sent != c->asked && c->sent - c->answered < streamsMax; c->sent++) {
        c->bodyBytes[c->sent % WaitingMax] = 0;
        count += put_frame(bytes + count, Headers, EndStream | EndHeaders, 2 * c->sent + 1, fields, fieldBytes);
    }
    if (count) wire_send(&c->wire, bytes, count);
}

static void ask(struct connection *c, int depth) {
    (void)depth;
    send_due(c);
}

static void end_stream(struct connection *c, uint32_t request) {
    uint32_t bytes = c->bodyBytes[request % WaitingMax];
    if (!firstBodyBytes) firstBodyBytes = bytes;
    if (!bytes || bytes != firstBodyBytes) errx(1, "a body has %u bytes, another one %u", bytes, firstBodyBytes);
    take_answer(c, request);
}

static void take_frame(struct connection *c) {
    uint8_t type = c->frameHead[3], flags = c->frameHead[4];
    uint32_t count = get_u32(c->frameHead) >> 8, request = (get_u32(c->frameHead + 5) & StreamMask) / 2;
    switch (type) {
    case Data: c->bodyBytes[request % WaitingMax] += count; break;
    case Headers:
        if (c->payloadFirst != IndexedOk) errx(1, "request %u was not answered with 200", request);
        break;
    case Settings:
        if (!(flags & Ack)) {
            uint8_t ack[FrameHeadBytes];
            wire_send(&c->wire, ack, put_frame(ack, Settings, Ack, 0, NULL, 0));
        }
        return;
    case ResetStream: errx(1, "the server reset the stream of request %u", request);
    case GoAway: errx(1, "the server sent GOAWAY");
    case Ping: errx(1, "the server sent PING, and waits for its answer in vain");
    default: return;
    }
    if (flags & EndStream) end_stream(c, request);
}

static void take(struct connection *c, const uint8_t *bytes, size_t count) {
    while (count) {
        if (c->frameHeadBytes < FrameHeadBytes) {
            size_t part = count < FrameHeadBytes - c->frameHeadBytes ? count : FrameHeadBytes - c->frameHeadBytes;
            memcpy(c->frameHead + c->frameHeadBytes, bytes, part);
            c->frameHeadBytes += part;
            bytes += part;
            count -= part;
            c->payloadBytesLeft = get_u32(c->frameHead) >> 8;
        }
        if (count && c->payloadBytesLeft == get_u32(c->frameHead) >> 8) c->payloadFirst = *bytes;
        size_t part = count < c->payloadBytesLeft ? count : c->payloadBytesLeft;
        bytes += part;
        count -= part;
        c->payloadBytesLeft -= part;
        if (c->frameHeadBytes < FrameHeadBytes || c->payloadBytesLeft) break;
        take_frame(c);
        c->frameHeadBytes = 0;
    }
    send_due(c);
}

const struct protocol Https2 = {"https2", 1, "\x02h2", prepare, begin, ask, take};
