// Runs a program under a seccomp filter that refuses io_uring's system calls, as container runtimes do.
// Usage: refuse-io-uring [--errno NUMBER] [--only setup|enter|register] PROGRAM [ARGUMENT]...
// Without options all three are answered with EPERM.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

// The same numbers on x64 and arm64.
enum { IoUringSetup = 425, IoUringEnter = 426, IoUringRegister = 427 };

static int number_of(const char *call)
{
    return !strcmp(call, "setup") ? IoUringSetup : !strcmp(call, "enter") ? IoUringEnter : IoUringRegister;
}

int main(int argc, char **argv)
{
    int error = EPERM, first = IoUringSetup, last = IoUringRegister, at = 1;
    for (; at + 1 < argc && !strncmp(argv[at], "--", 2); at += 2) {
        if (!strcmp(argv[at], "--errno"))
            error = atoi(argv[at + 1]);
        else
            first = last = number_of(argv[at + 1]);
    }

    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first, 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };

    if (at >= argc || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("refuse-io-uring");
        return 100;
    }

    execvp(argv[at], argv + at);
    perror(argv[at]);
    return 100;
}
