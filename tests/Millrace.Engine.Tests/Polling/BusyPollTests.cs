using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using Millrace.Engine.Backends;
using Millrace.Engine.Backends.Uring;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Polling;

/// <summary>Waits that look at network devices: who is told to, as the kernel shows it, and what is said where none can.</summary>
public partial class BusyPollTests : EngineTest
{
    private const int TimeUs = 70;
    private const string Remedy = "use Linux 6.9 or newer, built with CONFIG_NET_RX_BUSY_POLL, or do without busy polling.";

    /// <summary>What sockets have of the machine.</summary>
    private static int OfKernel => int.Parse(File.ReadAllText("/proc/sys/net/core/busy_read"), CultureInfo.InvariantCulture);

    private static BusyPoll Preferred => new(TimeUs, IsPreferred: true);

    [Theory]
    [InlineData("127.0.0.1", false)]
    [InlineData("127.0.0.1", true)]
    [InlineData("::1", false)]
    public async Task Accepted_connections_have_it_of_their_listeners(string address, bool isPreferred)
    {
        RequireRight(isPreferred);
        var endPoint = new IPEndPoint(IPAddress.Parse(address), 0);
        Listener listener = await ServeAsync(TellAsync, Polled() with { PreferBusyPolling = isPreferred }, endPoint);
        // Each reactor on a socket of its own, of which the kernel picks one by the ports.
        for (int i = 0; i < 200 && Group.Reactors.Any(static reactor => reactor.Counters.Accepted == 0); i++)
        {
            Assert.Equal((TimeUs, isPreferred ? 1 : 0), await AskAsync(listener));
        }

        Assert.All(Group.Reactors, static reactor => Assert.NotEqual(0, reactor.Counters.Accepted));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_socket_of_somebody_else_is_given_it_and_keeps_its_own_without(bool isTold)
    {
        using var bound = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        bound.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        Assert.Equal(0, SocketCalls.SetOption((int)bound.Handle, SocketOptionNumber.LevelSocket, SocketOptionNumber.BusyPoll, 5));
        ReactorGroup group = await StartAsync(isTold ? Polled() : Options());
        Assert.Equal((isTold ? TimeUs : 5, 0), await AskAsync(await group.AdoptAsync((int)bound.Handle, TellAsync).Within()));
    }

    [Fact]
    public async Task Unix_sockets_are_of_no_device_and_need_no_right()
    {
        using var folder = new TemporaryFolder();
        ReactorGroup group = await StartAsync(Polled() with { PreferBusyPolling = true });
        Listener unix = await group.ListenAsync(new UnixDomainSocketEndPoint(folder.File("s")), TellAsync).Within();
        Assert.Equal((OfKernel, 0), await AskAsync(unix));
    }

    /// <summary>To prefer it is nothing by itself, and needs no right then.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Without_it_sockets_are_as_they_were(bool isPreferred) =>
        Assert.Equal((OfKernel, 0), await AskAsync(await ServeAsync(TellAsync, Options() with { PreferBusyPolling = isPreferred })));

    [Theory]
    [Trait("Backend", "io_uring")]
    [InlineData(false, false)]
    [InlineData(true, false)]
    [InlineData(false, true)]
    public async Task Each_ring_is_told(bool isPreferred, bool hasPoller)
    {
        EngineOptions options = Polled() with { Backend = BackendKind.IoUring, PreferBusyPolling = isPreferred };
        RequireKernel(6, 13);
        string[] before = Descriptors("[io_uring]");
        await StartAsync(hasPoller ? options.Polled() : options);
        string[] rings = [.. Descriptors("[io_uring]").Except(before)];
        Assert.Equal(2, rings.Length);
        foreach (string ring in rings)
        {
            string facts = await ReadFactsAsync(ring);
            Assert.Contains("NAPI:\tenabled", facts, StringComparison.Ordinal);
            Assert.Contains($"napi_busy_poll_dt:\t{TimeUs * 1_000}\n", facts, StringComparison.Ordinal);
            Assert.Contains($"napi_prefer_busy_poll:\t{(isPreferred ? "true" : "false")}", facts, StringComparison.Ordinal);
        }
    }

    [Fact]
    [Trait("Backend", "io_uring")]
    public async Task Rings_are_not_told_unasked()
    {
        RequireKernel(6, 13);
        string[] before = Descriptors("[io_uring]");
        await StartAsync(Options() with { Backend = BackendKind.IoUring });
        string ring = Assert.Single(Descriptors("[io_uring]").Except(before));
        Assert.Contains("NAPI:\tdisabled", await ReadFactsAsync(ring), StringComparison.Ordinal);
    }

    [Theory]
    [Trait("Backend", "epoll")]
    [InlineData(TimeUs, false)]
    [InlineData(TimeUs, true)]
    [InlineData(0, false)]
    public async Task Each_epoll_instance_is_told(int timeUs, bool isPreferred)
    {
        const nuint GetParameters = 0x8008_8A02;
        string[] before = Descriptors("[eventpoll]");
        await StartAsync(Polled() with
        {
            Backend = BackendKind.Epoll,
            BusyPolling = TimeSpan.FromMicroseconds(timeUs),
            PreferBusyPolling = isPreferred,
        });
        string[] instances = [.. Descriptors("[eventpoll]").Except(before)];
        Assert.Equal(2, instances.Length);
        Assert.All(instances, instance =>
        {
            byte[] parameters = new byte[8];
            Assert.Equal(0, Control(int.Parse(instance, CultureInfo.InvariantCulture), GetParameters, parameters));
            Assert.Equal(
                (timeUs, 0, isPreferred),
                (BitConverter.ToInt32(parameters), BitConverter.ToInt16(parameters, 4), parameters[6] == 1));
        });
    }

    /// <summary>The kernel refuses a ring of another thread, as an older one refuses each.</summary>
    [Fact]
    [Trait("Backend", "io_uring")]
    public async Task A_refusal_of_rings_has_cause_and_remedy_and_is_no_reason_for_epoll()
    {
        Exception? thrown = null;
        await OnItsThread(() =>
        {
            using Ring ring = Ring.Create(Options());
            var other = new Thread(() => thrown = Record.Exception(() => Preferred.RequireOfRing(ring)));
            other.Start();
            other.Join();
        });
        EngineException refusal = Assert.IsType<EngineException>(thrown);
        Assert.Equal((UringObstacle.BusyPolling, false), (refusal.Refusal!.Obstacle, refusal.Refusal.IsAbsence));
        Assert.Equal($"io_uring of this kernel does not poll network devices ({Errno.Describe(Errno.EEXIST)}): {Remedy}", refusal.Message);
    }

    [Fact]
    public void A_refusal_of_epoll_and_of_sockets_has_cause_and_remedy()
    {
        int neither = SocketCalls.EventDescriptor();
        Assert.EndsWith(Remedy, Assert.Throws<EngineException>(() => Preferred.RequireOfEpoll(neither)).Message, StringComparison.Ordinal);
        Assert.EndsWith(Remedy, Assert.Throws<EngineException>(() => Preferred.RequireOfSocket(neither)).Message, StringComparison.Ordinal);
        Assert.Equal(0, SocketCalls.Close(neither));

        // Who does not prefer it needs no right since 6.4: it is an older kernel that says so.
        Assert.Contains("start with CAP_NET_ADMIN", Preferred.DescribeSocket(Errno.EPERM), StringComparison.Ordinal);
        Assert.EndsWith(Remedy, new BusyPoll(TimeUs, IsPreferred: false).DescribeSocket(Errno.EPERM), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void A_trial_says_nothing_where_it_can_be_had(bool onTcp)
    {
        RequireKernel(6, 9);
        RequireRight(onTcp);
        Assert.Null(Preferred.Refusal(onTcp));
        Assert.Null(default(BusyPoll).Refusal(onTcp));
    }

    [Theory]
    [InlineData(-1)]
    [InlineData(0.5)]
    [InlineData(10_001)]
    public async Task A_time_out_of_range_is_refused(double microseconds) =>
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            () => StartAsync(Options() with { BusyPolling = TimeSpan.FromMicroseconds(microseconds) }));

    private static EngineOptions Polled()
    {
        RequireKernel(6, 9);
        return Options() with { Reactors = 2, BusyPolling = TimeSpan.FromMicroseconds(TimeUs) };
    }

    private static void RequireKernel(int major, int minor) => Assert.SkipUnless(
        Environment.OSVersion.Version >= new Version(major, minor), $"What is asked for came with Linux {major}.{minor}.");

    private static void RequireRight(bool isPreferred) =>
        Assert.SkipWhen(isPreferred && !Environment.IsPrivilegedProcess, "Only root may prefer it.");

    /// <summary>Sends what the connection's socket has, as two numbers.</summary>
    private static async Task TellAsync(Connection connection)
    {
        byte[] told = new byte[8];
        Assert.Equal(4, SocketCalls.GetOption(
            connection.Descriptor, SocketOptionNumber.LevelSocket, SocketOptionNumber.BusyPoll, told.AsSpan(0, 4)));
        Assert.Equal(4, SocketCalls.GetOption(
            connection.Descriptor, SocketOptionNumber.LevelSocket, SocketOptionNumber.PreferBusyPoll, told.AsSpan(4)));
        connection.Write(told);
        await connection.FlushAsync();
    }

    private async Task<(int TimeUs, int IsPreferred)> AskAsync(Listener listener)
    {
        Client client = await ConnectAsync(listener);
        byte[] told = await client.ReceiveAsync(8);
        return (BitConverter.ToInt32(told), BitConverter.ToInt32(told, 4));
    }

    /// <summary>What the kernel says of a ring: only the name of the file while somebody is at the ring.</summary>
    private static async Task<string> ReadFactsAsync(string ring)
    {
        string facts = "";
        await Waiting.UntilAsync(
            () => (facts = File.ReadAllText($"/proc/self/fdinfo/{ring}")).Contains("NAPI:", StringComparison.Ordinal),
            "the kernel shows how a ring waits");
        return facts;
    }

    /// <summary>The numbers of all descriptors of such a kind.</summary>
    private static string[] Descriptors(string kind) =>
    [
        .. Directory.GetFiles("/proc/self/fd")
            .Where(path => new FileInfo(path).LinkTarget?.EndsWith(kind, StringComparison.Ordinal) ?? false)
            .Select(static path => Path.GetFileName(path)),
    ];

    private static async Task OnItsThread(Action action) =>
        await Task.Factory.StartNew(action, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default).Within();

    [LibraryImport("libc", EntryPoint = "ioctl")]
    private static partial int Control(int descriptor, nuint request, byte[] argument);
}
