// limit: what the kernel charges for a request, and next to nothing else.
//
//   limit PORT BODY_BYTES [--read FILE | --sendfile]
//
// One thread, one ring. Every request gets the same prebuilt reply; nothing of it is parsed but its
// end, so pipelined and fragmented requests get the right number of answers. With --read the body is
// read from FILE on the ring for each request, behind the head: the limit of Millrace's Ring strategy.
// With --sendfile the body is pages in memory (a memfd) that the socket takes by reference, by a system
// call for each piece, as a ring has no such operation: what a server can win by not copying.
//
// A connection is its descriptor: it is closed only when nothing of it is in flight, so a descriptor
// that the kernel gives out again never meets a completion of its last owner.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// The submission queue holds one operation for each connection of the largest run without a flush.
// 1,024 buffers keep the lines that receives touch in L2; a receive that finds none is re-armed.
enum { SqEntries = 4096, CqEntries = 16384, BufferCount = 1024, BufferBytes = 2048, BufferGroup = 0 };
enum { ConnectionsMax = 1 << 20, Backlog = 4096 };
enum operation { Accept, Receive, Read, Send, Room };

struct connection {
    char *reply;    // head and body: shared by all, or the connection's own with --read
    unsigned match; // how much of CRLFCRLF the last receive ended with
    unsigned owed;  // requests that were received and are not answered yet
    size_t sent;    // with --sendfile: of the reply
    bool receiving; // a multishot receive is armed
    bool answering; // a READ, a SEND or a POLL_ADD is in flight
    bool ended;     // the peer sent FIN, or something failed
};

static struct io_uring ring;
static struct io_uring_buf_ring *bufferRing;
static char *buffers, *prebuilt;
static struct connection *connections;
static int listener, file = -1, pages = -1;
static size_t headBytes, bodyBytes;

static struct io_uring_sqe *next_sqe(void) {
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
    if (sqe) return sqe;
    int submitted = io_uring_submit(&ring);
    if (submitted < 0) errx(1, "submit: %s", strerror(-submitted));
    return io_uring_get_sqe(&ring);
}

static void tag(struct io_uring_sqe *sqe, enum operation operation, int fd) {
    sqe->user_data = (__u64)operation << 32 | (unsigned)fd;
}

static void submit_accept(void) {
    struct io_uring_sqe *sqe = next_sqe();
    io_uring_prep_multishot_accept(sqe, listener, NULL, NULL, SOCK_CLOEXEC | (pages >= 0 ? SOCK_NONBLOCK : 0));
    tag(sqe, Accept, listener);
}

static void submit_receive(int fd) {
    struct io_uring_sqe *sqe = next_sqe();
    io_uring_prep_recv_multishot(sqe, fd, NULL, 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = BufferGroup;
    tag(sqe, Receive, fd);
    connections[fd].receiving = true;
}

static void submit_send(int fd) {
    struct io_uring_sqe *sqe = next_sqe();
    io_uring_prep_send(sqe, fd, connections[fd].reply, headBytes + bodyBytes, MSG_WAITALL | MSG_NOSIGNAL);
    tag(sqe, Send, fd);
}

static void submit_read(int fd) {
    struct io_uring_sqe *sqe = next_sqe();
    io_uring_prep_read(sqe, file, connections[fd].reply + headBytes, bodyBytes, 0);
    tag(sqe, Read, fd);
}

// More of the reply by reference, until it is out (1), there is no room (0), or it cannot be sent (-1).
static int transmit(int fd) {
    struct connection *connection = &connections[fd];
    while (connection->sent < headBytes + bodyBytes) {
        ssize_t count;
        if (connection->sent < headBytes) {
            size_t left = headBytes - connection->sent;
            count = send(fd, prebuilt + connection->sent, left, MSG_MORE | MSG_NOSIGNAL | MSG_DONTWAIT);
        } else {
            off_t offset = connection->sent - headBytes;
            count = sendfile(fd, pages, &offset, bodyBytes - offset);
        }
        if (count < 0 && errno == EAGAIN) return 0;
        if (count <= 0) return -1;
        connection->sent += count;
    }
    connection->sent = 0;
    return 1;
}

static void submit_poll(int fd) {
    struct io_uring_sqe *sqe = next_sqe();
    io_uring_prep_poll_add(sqe, fd, POLLOUT);
    tag(sqe, Room, fd);
    connections[fd].answering = true;
}

// Nothing more is answered; the shutdown ends a receive that is still armed.
static void fail(int fd) {
    connections[fd].owed = 0;
    connections[fd].ended = true;
    if (connections[fd].receiving) shutdown(fd, SHUT_RDWR);
}

// Answers the next request that is owed, or closes what has ended and has nothing in flight.
static void proceed(int fd) {
    struct connection *connection = &connections[fd];
    if (connection->answering) return;
    while (pages >= 0 && connection->owed > 0) {
        int state = transmit(fd);
        if (state == 0) { submit_poll(fd); return; }
        if (state < 0) fail(fd); else connection->owed--;
    }
    if (connection->owed > 0) {
        connection->answering = true;
        if (file >= 0) submit_read(fd); else submit_send(fd);
    } else if (connection->ended && !connection->receiving) {
        if (connection->reply != prebuilt) free(connection->reply);
        close(fd);
    }
}

static void on_accepted(int result, bool more) {
    if (result >= 0) {
        char *reply = prebuilt;
        if (file >= 0) {
            reply = malloc(headBytes + bodyBytes);
            if (!reply) err(1, "malloc");
            memcpy(reply, prebuilt, headBytes);
        }
        connections[result] = (struct connection){ .reply = reply };
        submit_receive(result);
    } else if (result != -ECONNABORTED && result != -EINTR) {
        errx(1, "accept: %s", strerror(-result)); // out of descriptors: no figure of such a run is one
    }
    if (!more) submit_accept();
}

static unsigned count_ends(const char *bytes, size_t count, unsigned *match) {
    const char *end = bytes + count;
    unsigned ends = 0;
    while (bytes < end) {
        // memchr between line ends: a byte at a time was a percent of the whole request.
        if (*match == 0 && !(bytes = memchr(bytes, '\r', end - bytes))) break;
        *match = *bytes == "\r\n\r\n"[*match] ? *match + 1 : *bytes == '\r';
        bytes++;
        if (*match == 4) ends++, *match = 0;
    }
    return ends;
}

static void on_received(int fd, int result, unsigned flags) {
    struct connection *connection = &connections[fd];
    connection->receiving = flags & IORING_CQE_F_MORE;
    if (flags & IORING_CQE_F_BUFFER) {
        unsigned id = flags >> IORING_CQE_BUFFER_SHIFT;
        char *buffer = buffers + (size_t)id * BufferBytes;
        if (result > 0 && !connection->ended) connection->owed += count_ends(buffer, result, &connection->match);
        io_uring_buf_ring_add(bufferRing, buffer, BufferBytes, id, BufferCount - 1, 0);
        io_uring_buf_ring_advance(bufferRing, 1);
    }
    if (result == 0) connection->ended = true;
    else if (result < 0 && result != -ENOBUFS) fail(fd);
    if (!connection->receiving && !connection->ended) submit_receive(fd);
    proceed(fd);
}

static void on_read(int fd, int result) {
    if (!connections[fd].ended && result != (int)bodyBytes) warnx("read: %d of %zu bytes", result, bodyBytes);
    if (result == (int)bodyBytes) { submit_send(fd); return; }
    connections[fd].answering = false;
    fail(fd);
    proceed(fd);
}

static void on_sent(int fd, int result) {
    connections[fd].answering = false;
    if (result != (int)(headBytes + bodyBytes)) fail(fd);
    else if (connections[fd].owed > 0) connections[fd].owed--; // 0: the receive failed meanwhile
    proceed(fd);
}

static void on_room(int fd) {
    connections[fd].answering = false;
    proceed(fd);
}

static void dispatch(const struct io_uring_cqe *cqe) {
    int fd = (int)(unsigned)cqe->user_data;
    switch ((enum operation)(cqe->user_data >> 32)) {
    case Accept: on_accepted(cqe->res, cqe->flags & IORING_CQE_F_MORE); break;
    case Receive: on_received(fd, cqe->res, cqe->flags); break;
    case Read: on_read(fd, cqe->res); break;
    case Send: on_sent(fd, cqe->res); break;
    case Room: on_room(fd); break;
    }
}

static void build_reply(void) {
    char head[256], date[64];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&now));
    headBytes = snprintf(head, sizeof head,
        "HTTP/1.1 200 OK\r\nDate: %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n", date, bodyBytes);
    prebuilt = malloc(headBytes + bodyBytes);
    if (!prebuilt) err(1, "malloc");
    memcpy(prebuilt, head, headBytes);
    memset(prebuilt + headBytes, 'x', bodyBytes);
}

static void make_pages(void) {
    pages = memfd_create("body", MFD_CLOEXEC);
    if (pages < 0 || ftruncate(pages, bodyBytes) < 0) err(1, "memfd");
    char *body = mmap(NULL, bodyBytes, PROT_READ | PROT_WRITE, MAP_SHARED, pages, 0);
    if (body == MAP_FAILED) err(1, "mmap");
    memset(body, 'x', bodyBytes);
}

// As many descriptors as the hard limit allows, and a connection for each.
static void make_connections(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) err(1, "getrlimit");
    limit.rlim_cur = limit.rlim_max < ConnectionsMax ? limit.rlim_max : ConnectionsMax;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0) err(1, "setrlimit");
    connections = calloc(limit.rlim_cur, sizeof *connections);
    if (!connections) err(1, "calloc");
}

static void listen_on(int port) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int on = 1;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // connections inherit it
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0) err(1, "bind");
    if (listen(listener, Backlog) < 0) err(1, "listen");
}

static void make_ring(void) {
    struct io_uring_params params = {
        .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE,
        .cq_entries = CqEntries,
    };
    int result = io_uring_queue_init_params(SqEntries, &ring, &params);
    if (result < 0) errx(1, "io_uring_setup: %s", strerror(-result));
    if ((result = io_uring_register_ring_fd(&ring)) < 0) errx(1, "register ring fd: %s", strerror(-result));

    size_t ringBytes = BufferCount * sizeof(struct io_uring_buf);
    bufferRing = mmap(NULL, ringBytes + (size_t)BufferCount * BufferBytes, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bufferRing == MAP_FAILED) err(1, "mmap");
    buffers = (char *)bufferRing + ringBytes;
    struct io_uring_buf_reg registration = {
        .ring_addr = (__u64)(uintptr_t)bufferRing, .ring_entries = BufferCount, .bgid = BufferGroup };
    if ((result = io_uring_register_buf_ring(&ring, &registration, 0)) < 0)
        errx(1, "register buffer ring: %s", strerror(-result));
    io_uring_buf_ring_init(bufferRing);
    for (int id = 0; id < BufferCount; id++)
        io_uring_buf_ring_add(bufferRing, buffers + (size_t)id * BufferBytes, BufferBytes, id, BufferCount - 1, id);
    io_uring_buf_ring_advance(bufferRing, BufferCount);
}

static void run(void) {
    submit_accept();
    for (;;) {
        int result = io_uring_submit_and_wait(&ring, 1);
        // EBUSY, EAGAIN: the completion queue is behind; what it holds is reaped below.
        if (result < 0 && result != -EINTR && result != -EBUSY && result != -EAGAIN)
            errx(1, "enter: %s", strerror(-result));
        struct io_uring_cqe *cqe;
        unsigned head, seen = 0;
        io_uring_for_each_cqe(&ring, head, cqe) {
            dispatch(cqe);
            seen++;
        }
        io_uring_cq_advance(&ring, seen);
    }
}

static void on_terminate(int signal) {
    (void)signal;
    _exit(0);
}

int main(int argc, char **argv) {
    bool reads = argc == 5 && strcmp(argv[3], "--read") == 0;
    bool refers = argc == 4 && strcmp(argv[3], "--sendfile") == 0;
    if (argc != 3 && !reads && !refers) errx(2, "usage: limit PORT BODY_BYTES [--read FILE | --sendfile]");
    bodyBytes = strtoul(argv[2], NULL, 10);
    // O_NONBLOCK: on overlayfs and tmpfs a ring read is inline only then (0.8 against 5 us).
    if (reads && (file = open(argv[4], O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0) err(1, "%s", argv[4]);
    signal(SIGTERM, on_terminate);
    signal(SIGPIPE, SIG_IGN); // sendfile has no MSG_NOSIGNAL
    build_reply();
    if (refers) make_pages();
    make_connections();
    listen_on(atoi(argv[1]));
    make_ring();
    run();
}
