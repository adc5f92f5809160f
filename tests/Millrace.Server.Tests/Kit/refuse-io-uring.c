// Runs a program under a seccomp filter that answers EPERM to io_uring's system calls, as container runtimes do.
// Usage: refuse-io-uring PROGRAM [ARGUMENT]...
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

// The same numbers on x64 and arm64.
enum { IoUringSetup = 425, IoUringRegister = 427 };

int main(int argc, char **argv)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, IoUringSetup, 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, IoUringRegister, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };

    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("refuse-io-uring");
        return 100;
    }

    execv(argv[1], argv + 1);
    perror(argv[1]);
    return 100;
}
