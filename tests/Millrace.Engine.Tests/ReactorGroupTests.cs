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
        var endPoint = new IPEndPoint(IPAddress.Loopback, 0);
        await Assert.ThrowsAsync<InvalidOperationException>(() => group.ListenAsync(endPoint, Handlers.EchoAsync).Within());
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
    public async Task Receive_buffers_must_be_a_power_of_two()
    {
        EngineOptions options = Options() with { ReceiveBuffers = 3 };
        ArgumentOutOfRangeException error = await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => ReactorGroup.StartAsync(options));
        Assert.Equal(nameof(EngineOptions.ReceiveBuffers), error.ParamName);
    }

    private static bool IsCount(string line) => line.StartsWith("eventfd-count:", StringComparison.Ordinal);
}
