// netpath: a path between two network namespaces, with delay, loss and a rate, where the kernel has no netem.
//
//   netpath NAMESPACE NAMESPACE DELAY_MS LOSS_PERCENT RATE_MBIT QUEUE_PACKETS
//
// The namespaces are files (/run/netns/NAME). Each gets a device "path0" with an address: 10.99.0.1 the first, 10.99.0.2 the second. Delay
// and loss are of each direction. A packet that finds QUEUE_PACKETS before it is dropped. The losses follow from a fixed seed. Prints
// "ready" when packets pass, and ends with its standard input, or by a signal. Root only.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PacketBytesMax = 2048, InFlightMax = 65536 };
static const int64_t Second = 1000000000, Millisecond = 1000000;

struct packet {
    int64_t due;
    int bytes;
    uint8_t data[PacketBytesMax];
};

// From one device to the other: a ring, in the order of arrival, which is that of departure.
struct direction {
    int from, to;
    struct packet *ring;
    uint64_t head, tail;
    int64_t sent_at; // when the last bit of the last packet has left the sender
};

static int64_t delay, ns_per_byte_x1000;
static double loss;
static uint64_t queue_max, seed = 0x9E3779B97F4A7C15;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * Second + now.tv_nsec;
}

// xorshift64*
static double next_random(void) {
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return (double)((seed * 0x2545F4914F6CDD1D) >> 11) / (double)(1ull << 53);
}

static int open_device(const char *namespace, const char *address) {
    int entered = open(namespace, O_RDONLY | O_CLOEXEC);
    if (entered < 0 || setns(entered, CLONE_NEWNET) != 0) err(1, "%s", namespace);
    close(entered);
    int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_name = "path0", .ifr_flags = IFF_TUN | IFF_NO_PI};
    if (device < 0 || ioctl(device, TUNSETIFF, &request) != 0) err(1, "/dev/net/tun");
    struct sockaddr_in ip = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr(address)};
    memcpy(&request.ifr_addr, &ip, sizeof ip);
    if (socket_ < 0 || ioctl(socket_, SIOCSIFADDR, &request) != 0) err(1, "SIOCSIFADDR");
    ip.sin_addr.s_addr = inet_addr("255.255.255.0");
    memcpy(&request.ifr_netmask, &ip, sizeof ip);
    if (ioctl(socket_, SIOCSIFNETMASK, &request) != 0) err(1, "SIOCSIFNETMASK");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (ioctl(socket_, SIOCSIFFLAGS, &request) != 0) err(1, "SIOCSIFFLAGS");
    close(socket_);
    return device;
}

static void take(struct direction *way, int64_t now) {
    while (true) {
        struct packet *packet = &way->ring[way->tail % InFlightMax];
        bool is_full = way->tail - way->head == InFlightMax;
        uint8_t dropped[PacketBytesMax];
        ssize_t bytes = read(way->from, is_full ? dropped : packet->data, PacketBytesMax);
        if (bytes < 0) {
            if (errno == EAGAIN) return;
            err(1, "read");
        }
        int64_t takes = bytes * ns_per_byte_x1000 / 1000;
        int64_t begins = way->sent_at > now ? way->sent_at : now;
        // What waits at the sender, in packets of this size.
        bool has_queue_space = takes == 0 || (uint64_t)((begins - now) / takes) < queue_max;
        if (is_full || !has_queue_space || next_random() < loss) continue;
        way->sent_at = begins + takes;
        packet->due = way->sent_at + delay;
        packet->bytes = (int)bytes;
        way->tail++;
    }
}

static void give(struct direction *way, int64_t now) {
    while (way->head < way->tail) {
        struct packet *packet = &way->ring[way->head % InFlightMax];
        if (packet->due > now) return;
        if (write(way->to, packet->data, packet->bytes) < 0 && errno != EAGAIN && errno != ENOBUFS) err(1, "write");
        way->head++;
    }
}

static struct direction direction_of(int from, int to) {
    struct direction way = {.from = from, .to = to, .ring = calloc(InFlightMax, sizeof(struct packet))};
    if (way.ring == NULL) err(1, "memory");
    return way;
}

int main(int count, char **words) {
    if (count != 7) errx(2, "NAMESPACE NAMESPACE DELAY_MS LOSS_PERCENT RATE_MBIT QUEUE_PACKETS");
    delay = (int64_t)(atof(words[3]) * Millisecond);
    loss = atof(words[4]) / 100;
    ns_per_byte_x1000 = atof(words[5]) > 0 ? (int64_t)(8000 * 1000 / atof(words[5])) : 0;
    queue_max = strtoull(words[6], NULL, 10);
    int first = open_device(words[1], "10.99.0.1"), second = open_device(words[2], "10.99.0.2");
    struct direction ways[] = {direction_of(first, second), direction_of(second, first)};
    struct pollfd waits[] = {{first, POLLIN, 0}, {second, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    puts("ready");
    fflush(stdout);
    while ((waits[2].revents & (POLLIN | POLLHUP)) == 0) {
        int64_t now = now_ns();
        int64_t wait = Second;
        for (int i = 0; i < 2; i++) {
            take(&ways[i], now);
            give(&ways[i], now);
            if (ways[i].head < ways[i].tail) {
                int64_t until = ways[i].ring[ways[i].head % InFlightMax].due - now;
                wait = until < wait ? until : wait;
            }
        }
        struct timespec timeout = {.tv_sec = wait / Second, .tv_nsec = wait % Second};
        if (ppoll(waits, 3, &timeout, NULL) < 0 && errno != EINTR) err(1, "ppoll");
    }
    return 0;
}
