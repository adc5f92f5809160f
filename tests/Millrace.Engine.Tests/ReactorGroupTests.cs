using System.Net;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests;

/// <summary>A group before its start and after its end.</summary>
public class ReactorGroupTests : EngineTest
{
    [Fact]
    public async Task What_is_posted_after_the_end_touches_no_foreign_descriptor()
    {
        ReactorGroup group = await StartAsync();
        Reactor reactor = group.Reactors[0];
        await group.StopAsync(TimeSpan.Zero).Within();

        // Event descriptors now bear the numbers that the reactor's had: a wake would be seen in their counts.
        int[] events = [.. Enumerable.Range(0, 16).Select(static _ => SocketCalls.EventDescriptor())];
        reactor.Post(static _ => { }, null);
        reactor.Post(static _ => { }, null);
        string[] counts = [.. events.Select(static fd => File.ReadAllLines($"/proc/self/fdinfo/{fd}").Single(IsCount).Split(' ')[^1])];
        Assert.All(events, static fd => Assert.Equal(0, SocketCalls.Close(fd)));
        Assert.All(counts, static count => Assert.Equal("0", count));
    }

    [Fact]
    public async Task Stopping_a_listener_after_its_group_is_nothing()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync);
        await Group.StopAsync(TimeSpan.Zero).Within();
        await listener.StopAsync().Within();
        await Group.StopAsync(TimeSpan.Zero).Within();
    }

    [Fact]
    public async Task Listening_after_the_end_is_refused()
    {
        ReactorGroup group = await StartAsync();
        await group.StopAsync(TimeSpan.Zero).Within();
        await Assert.ThrowsAsync<ObjectDisposedException>(() => group.ListenAsync(new IPEndPoint(IPAddress.Loopback, 0), Handlers.EchoAsync).Within());
    }

    [Theory]
    [InlineData(512, 64)]
    [InlineData(5, 7)]
    public async Task Fewer_completions_than_submissions_are_refused_by_name(int submissions, int completions)
    {
        EngineOptions options = Options() with { SubmissionEntries = submissions, CompletionEntries = completions };
        ArgumentOutOfRangeException error = await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => ReactorGroup.StartAsync(options));
        Assert.Equal(nameof(EngineOptions.CompletionEntries), error.ParamName);
    }

    [Fact]
    public async Task Receive_buffers_must_be_a_power_of_two() => Assert.Equal(
        nameof(EngineOptions.ReceiveBuffers),
        (await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => ReactorGroup.StartAsync(Options() with { ReceiveBuffers = 3 }))).ParamName);

    [Theory]
    [InlineData((BackendKind)99)]
    [InlineData((BackendKind)(-1))]
    public async Task A_backend_that_is_none_is_refused_by_name(BackendKind backend)
    {
        EngineOptions options = Options() with { Backend = backend };
        ArgumentOutOfRangeException error = await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => ReactorGroup.StartAsync(options));
        Assert.Equal(nameof(EngineOptions.Backend), error.ParamName);
    }

    public static TheoryData<string, EngineOptions> OutOfRange => new()
    {
        { nameof(EngineOptions.Reactors), new EngineOptions { Reactors = -1 } },
        { nameof(EngineOptions.Reactors), new EngineOptions { Reactors = 1_025 } },
        { nameof(EngineOptions.SubmissionEntries), new EngineOptions { SubmissionEntries = 0 } },
        { nameof(EngineOptions.SubmissionEntries), new EngineOptions { SubmissionEntries = 32_769 } },
        { nameof(EngineOptions.CompletionEntries), new EngineOptions { CompletionEntries = 65_537 } },
        { nameof(EngineOptions.CompletionsPerIteration), new EngineOptions { CompletionsPerIteration = 0 } },
        { nameof(EngineOptions.CompletionsPerIteration), new EngineOptions { CompletionsPerIteration = 65_537 } },
        { nameof(EngineOptions.ReceiveBuffers), new EngineOptions { ReceiveBuffers = 65_536 } },
        { nameof(EngineOptions.ReceiveBufferBytes), new EngineOptions { ReceiveBufferBytes = 63 } },
        { nameof(EngineOptions.ReceiveBufferBytes), new EngineOptions { ReceiveBufferBytes = (1 << 20) + 1 } },
        { nameof(EngineOptions.ZeroCopySendBytes), new EngineOptions { ZeroCopySendBytes = -1 } },
        { nameof(EngineOptions.RegisteredBufferBytes), new EngineOptions { RegisteredBufferBytes = (1 << 30) + 1 } },
        { nameof(EngineOptions.FileWorkers), new EngineOptions { FileWorkers = 1_025 } },
        { nameof(EngineOptions.SubmissionPolling), new EngineOptions { SubmissionPolling = TimeSpan.FromTicks(-1) } },
        { nameof(EngineOptions.SubmissionPolling), new EngineOptions { SubmissionPolling = TimeSpan.FromMinutes(2) } },
        { nameof(EngineOptions.CongestionControl), new EngineOptions { CongestionControl = "" } },
        { nameof(EngineOptions.Limits), new EngineOptions { Limits = null! } },
        { nameof(EngineOptions.LoggerFactory), new EngineOptions { LoggerFactory = null! } },
        { nameof(Limits.Connections), Limited(new Limits { Connections = 0 }) },
        { nameof(Limits.ConnectionsPerClient), Limited(new Limits { ConnectionsPerClient = -1 }) },
        { nameof(Limits.Refusals), Limited(new Limits { Refusals = -1 }) },
        { nameof(Limits.BufferBytes), Limited(new Limits { BufferBytes = -1 }) },
        { nameof(Limits.Backlog), Limited(new Limits { Backlog = 0 }) },
        { nameof(Limits.InputHighWaterBytes), Limited(new Limits { InputHighWaterBytes = 0 }) },
        { nameof(Limits.PipeUnsentBytes), Limited(new Limits { PipeUnsentBytes = 0 }) },
        { nameof(Limits.KernelUnsentBytes), Limited(new Limits { KernelUnsentBytes = 0 }) },
        { nameof(Limits.LingerBytes), Limited(new Limits { LingerBytes = -1 }) },
        { nameof(Limits.WriteBytesPerSecond), Limited(new Limits { WriteBytesPerSecond = -1 }) },
        { nameof(Limits.WriteStall), Limited(new Limits { WriteStall = TimeSpan.FromDays(2) }) },
    };

    [Theory]
    [MemberData(nameof(OutOfRange))]
    public async Task An_option_out_of_its_range_is_refused_by_its_name(string name, EngineOptions options)
    {
        ArgumentException error = await Assert.ThrowsAnyAsync<ArgumentException>(() => ReactorGroup.StartAsync(options));
        Assert.Equal(name, error.ParamName);
    }

    [Fact]
    public async Task The_largest_limits_that_may_be_asked_for_are_served_with()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync, Options(new Limits
        {
            Connections = int.MaxValue,
            ConnectionsPerClient = int.MaxValue,
            Refusals = int.MaxValue,
            BufferBytes = long.MaxValue,
            Backlog = int.MaxValue,
            InputHighWaterBytes = int.MaxValue,
            PipeUnsentBytes = int.MaxValue,
            KernelUnsentBytes = int.MaxValue,
            Linger = TimeSpan.MaxValue,
            LingerBytes = int.MaxValue,
            WriteStall = TimeSpan.FromDays(1),
            WriteBytesPerSecond = int.MaxValue,
            ConnectTimeout = TimeSpan.MaxValue,
            AcceptPause = TimeSpan.MaxValue,
        }));
        await Client.EchoTogetherAsync(listener, connections: 4, bytes: 100_000);
        Assert.False(await Reactor.AskAsync(() => Reactor.IsOverloaded));
    }

    /// <summary>Beyond 16, and beyond four for each core of this machine.</summary>
    [Theory]
    [InlineData(1)]
    [InlineData(0)]
    public async Task Many_more_reactors_than_cores_are_warned_of(int beyond)
    {
        int reactors = Math.Max(16, 4 * Environment.ProcessorCount) + beyond;
        Assert.SkipWhen(reactors > EngineOptions.ReactorsMax, "So many cores have no more reactors than is usual.");
        await StartAsync(Options() with { Reactors = reactors, ReceiveBuffers = 2, SubmissionEntries = 2, CompletionEntries = 4 });
        Assert.Equal(beyond, Log.Count(113));
    }

    private static EngineOptions Limited(Limits limits) => new() { Limits = limits };

    private static bool IsCount(string line) => line.StartsWith("eventfd-count:", StringComparison.Ordinal);
}
