using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Backends.IoUring;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Polling;

/// <summary>The kernel threads that take submissions: how many there are, and what is said where there is none.</summary>
[Trait("Backend", "io_uring")]
public class PollerTests : EngineTest
{
    [Fact]
    public async Task Each_reactor_has_one_unless_they_share_it()
    {
        await NoneIsLeftAsync();
        ReactorGroup own = await StartAsync((Options() with { Reactors = 3 }).Polled());
        await UseAsync(own);
        Assert.Equal(3, Pollers().Length);
        await own.StopAsync(TimeSpan.Zero).Within();
        await NoneIsLeftAsync();

        ReactorGroup shared = await StartAsync((Options() with { Reactors = 3 }).PolledByOne());
        await UseAsync(shared);
        Assert.Single(Pollers());
        await shared.StopAsync(TimeSpan.Zero).Within();
        await NoneIsLeftAsync();
    }

    [Fact]
    public void Of_a_poller_that_is_refused_cause_and_remedy_are_told()
    {
        // The kernel refuses to share the poller of what is no ring, as an older one would refuse to have one.
        int noRing = SocketCalls.EventDescriptor();
        EngineException refusal = Assert.Throws<EngineException>(() => Ring.Create(Options().PolledByOne(), new SharedSubmissionPoller(), noRing));
        Assert.Equal(0, SocketCalls.Close(noRing));
        Assert.Equal(
            (IoUringRefusalKind.Option, false, Errno.EINVAL),
            (refusal.Refusal!.Kind, refusal.Refusal.IsUnavailable, refusal.Refusal.ErrorNumber));
        Assert.Equal(
            $"io_uring got no kernel thread for submission polling ({Errno.Describe(Errno.EINVAL)}): "
                + "use a newer kernel, or do without submission polling.",
            refusal.Message);
    }

    [Fact]
    public async Task A_ring_that_is_closed_leads_no_other()
    {
        var poller = new SharedSubmissionPoller();
        EngineOptions options = Options().PolledByOne();
        await OnItsThread(() =>
        {
            poller.CreateRing(options).Dispose();

            // It bears the number that the ring had.
            int other = SocketCalls.EventDescriptor();
            poller.CreateRing(options).Dispose();
            Assert.Equal(0, SocketCalls.Close(other));
        });
    }

    [Fact]
    public async Task On_epoll_it_is_ignored_and_said_once()
    {
        await NoneIsLeftAsync();
        await StartAsync((Options() with { Reactors = 2 }).Polled() with { Backend = BackendKind.Epoll });
        Assert.Equal(1, Log.Count(108));
        Assert.Empty(Pollers());
    }

    [Theory]
    [InlineData(-1)]
    [InlineData(0.5)]
    [InlineData(60_001)]
    public async Task A_time_out_of_range_is_refused(double milliseconds) =>
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            () => StartAsync(Options() with { SubmissionPolling = TimeSpan.FromMilliseconds(milliseconds) }));

    /// <summary>A poller bears its name when it has run, and has run when it has taken something.</summary>
    private static async Task UseAsync(ReactorGroup group)
    {
        using SafeFileHandle file = File.OpenHandle(Environment.ProcessPath!);
        foreach (Reactor reactor in group.Reactors)
        {
            await reactor.RunAsync(async () => Assert.Equal(16, await reactor.ReadFileAsync(file, new byte[16], 0)));
        }
    }

    /// <summary>They end with the last of their rings, which the kernel closes in its own time.</summary>
    private static Task NoneIsLeftAsync() => Waiting.UntilAsync(() => Pollers().Length == 0, "the pollers end with their rings");

    private static async Task OnItsThread(Action action) =>
        await Task.Factory.StartNew(action, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default).Within();

    /// <summary>What the kernel calls the threads that it makes for that.</summary>
    private static string[] Pollers() => [.. Directory.GetDirectories("/proc/self/task").Where(IsPoller)];

    private static bool IsPoller(string task)
    {
        try
        {
            return File.ReadAllText($"{task}/comm").StartsWith("iou-sqp-", StringComparison.Ordinal);
        }
        catch (IOException)
        {
            // It has ended since.
            return false;
        }
    }
}
