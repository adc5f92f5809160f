using Millrace.Engine.Backends;
using Millrace.Engine.Backends.IoUring;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Backends;

/// <summary>What is made of a refused io_uring: cause, remedy, and whether epoll may take over. Refusing is done by the server's tests.</summary>
public class BackendProbeTests
{
    [Theory]
    [InlineData(Errno.ENOSYS, false, false, "not in this kernel", "Linux 6.1")]
    [InlineData(Errno.EINVAL, false, true, "lacks what Millrace needs", "Linux 6.1")]
    [InlineData(Errno.EPERM, false, true, "seccomp", "io_uring_setup, io_uring_enter and io_uring_register")]
    [InlineData(Errno.ENOSYS, false, true, "seccomp", "io_uring_setup, io_uring_enter and io_uring_register")]
    [InlineData(Errno.EACCES, false, true, "seccomp", "io_uring_setup, io_uring_enter and io_uring_register")]
    [InlineData(Errno.EPERM, true, true, "kernel.io_uring_disabled", "sysctl -w kernel.io_uring_disabled=0")]
    [InlineData(Errno.EPERM, true, false, "kernel.io_uring_disabled", "sysctl -w kernel.io_uring_disabled=0")]
    [InlineData(Errno.EPERM, false, false, "security module", "allow it there")]
    [InlineData(Errno.EACCES, false, false, "security module", "allow it there")]
    [InlineData(Errno.EOPNOTSUPP, false, false, "sandbox", "allow it there")]
    public void An_absence_names_its_cause_and_its_remedy_and_is_epolls_turn(
        int errno, bool isDisabled, bool isFiltered, string cause, string remedy)
    {
        IoUringRefusal refusal = IoUringRefusal.ForSetup(errno, new HostRestrictions(isDisabled, isFiltered));
        Assert.True(refusal.IsUnavailable);
        Assert.Contains(cause, refusal.Cause, StringComparison.Ordinal);
        Assert.Contains(remedy, refusal.Remedy, StringComparison.Ordinal);
        Assert.Equal(BackendKind.Epoll, new BackendProbe(refusal).Best);
    }

    [Theory]
    [InlineData(Errno.ENOMEM, "ulimit -l")]
    [InlineData(Errno.EMFILE, "ulimit -n")]
    [InlineData(Errno.ENFILE, "fs.file-max")]
    [InlineData(Errno.EFAULT, "report it")]
    public void What_has_run_out_stays_an_error(int errno, string remedy)
    {
        IoUringRefusal refusal = IoUringRefusal.ForSetup(errno, new HostRestrictions(UringDisabled: true, SeccompFilters: true));
        Assert.False(refusal.IsUnavailable);
        Assert.Contains(remedy, refusal.Message, StringComparison.Ordinal);
        Assert.Equal(BackendKind.IoUring, new BackendProbe(refusal).Best);
    }

    [Fact]
    public void A_failed_self_test_is_epolls_turn_and_says_what_failed()
    {
        IoUringRefusal refusal = IoUringRefusal.ForSelfTest(new SelfTestFailure("multishot receive: Invalid argument", Errno.EINVAL));
        Assert.Contains("multishot receive: Invalid argument", refusal.Cause, StringComparison.Ordinal);
        Assert.Equal(BackendKind.Epoll, new BackendProbe(refusal).Best);
    }

    /// <summary>Of those for the ring, to be woken by, and for what the trial opens, each in its turn is the first that is missing.</summary>
    [Fact]
    [Trait("Backend", "io_uring")]
    public void However_few_descriptors_there_are_it_is_no_absence()
    {
        // What a trial needs of the runtime is loaded before there are no descriptors for it.
        Assert.Null(BackendProbe.Try());
        var causes = new HashSet<string>();
        var fillers = new Stack<int>();
        Assert.Equal(0, FileCalls.GetDescriptorLimit(out ResourceLimit before));
        try
        {
            Assert.Equal(0, DescriptorLimit.Set(before with { Soft = (ulong)Directory.GetFiles("/proc/self/fd").Length + 64 }));
            for (int filler; (filler = SocketCalls.EventDescriptor()) >= 0;)
            {
                fillers.Push(filler);
            }

            while (BackendProbe.Try() is { } refusal)
            {
                Assert.Equal((IoUringRefusalKind.SetupFailed, Errno.EMFILE), (refusal.Kind, refusal.ErrorNumber));
                Assert.Contains("ulimit -n", refusal.Remedy, StringComparison.Ordinal);
                causes.Add(refusal.Cause);
                Assert.Equal(0, SocketCalls.Close(fillers.Pop()));
            }
        }
        finally
        {
            foreach (int filler in fillers)
            {
                _ = SocketCalls.Close(filler);
            }

            Assert.Equal(0, DescriptorLimit.Set(before));
        }

        Assert.Equal(
            ["io_uring found no free descriptor", "io_uring found no free descriptor for its self-test"],
            causes.Select(static cause => cause[..cause.IndexOf(", as all ", StringComparison.Ordinal)]));
    }

    [Fact]
    [Trait("Backend", "io_uring")]
    public void Where_io_uring_works_nothing_is_refused_and_the_trial_is_made_once()
    {
        Assert.Equal(new BackendProbe(null), BackendProbe.Run());
        Assert.Equal(BackendKind.IoUring, BackendProbe.Current.Best);
        Assert.Same(BackendProbe.Current, BackendProbe.Current);
    }
}
