using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Tests.Transport.Kit;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine;
using Millrace.Engine.Diagnostics;

namespace Millrace.AspNetCore.Tests.Transport;

/// <summary>
/// What goes on within the transport when a pipe's wait ends is the application's, and may throw: its connection ends, and nothing else
/// does.
/// </summary>
public class ThrowingContinuationTests : TransportTest
{
    private static readonly Action Throw = static () => throw new FormatException("mine");

    protected override bool ExpectsErrors => true;

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task One_that_throws_leaves_the_reactor_nobodys(bool hasContext)
    {
        await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions { Reactors = 1, WatchForStalls = false });
        Reactor reactor = group.Reactors[0];
        var scheduler = new ReactorScheduler(reactor) { Owner = new Owner() };
        scheduler.Context = hasContext ? new ReactorSynchronizationContext(scheduler) : null;
        var seen = new TaskCompletionSource<(Exception?, ICallbackOwner?, SynchronizationContext?)>(
            TaskCreationOptions.RunContinuationsAsynchronously);
        reactor.Post(
            _ =>
            {
                Exception? error = Record.Exception(() => scheduler.Schedule(static _ => Throw(), null));
                seen.SetResult((error, reactor.CallbackOwner, SynchronizationContext.Current));
            },
            null);
        (Exception? error, ICallbackOwner? owner, SynchronizationContext? context) = await seen.Task.Within();
        Assert.IsType<FormatException>(error);
        Assert.Null(owner);
        Assert.Null(context);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task One_that_waits_for_input_ends_its_connection_alone(bool usesContext)
    {
        Options.UseSynchronizationContext = usesContext;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        await ThrowAtNextAsync(connection, () => connection.Transport.Input.ReadAsync());

        await peer.SendAsync("x");
        await AssertEndsAsync(peer, connection);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task One_that_waits_for_the_end_ends_its_connection_alone(bool usesContext)
    {
        Options.UseSynchronizationContext = usesContext;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        await ThrowAtNextAsync(connection, () => connection.Transport.Input.ReadAsync());

        peer.Socket.Shutdown(System.Net.Sockets.SocketShutdown.Send);
        await AssertEndsAsync(peer, connection);
    }

    [Fact]
    public async Task One_that_waits_for_a_flush_ends_its_connection_alone()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync(receiveBufferBytes: 4096);
        await ThrowAtNextAsync(connection, () => connection.Transport.Output.WriteAsync(new byte[32 * 1024 * 1024]));

        connection.Abort(new ConnectionAbortedException("enough"));
        await AssertEndsAsync(peer, connection);
    }

    /// <summary>Begins a wait on the reactor, as a request loop does, whose continuation throws there.</summary>
    private static Task ThrowAtNextAsync<T>(ConnectionContext connection, Func<ValueTask<T>> begin)
    {
        Reactor reactor = connection.Features.Get<IReactorFeature>()!.Reactor;
#pragma warning disable CA2012 // Not awaited: a task would keep what its continuation throws from the code that ends the wait.
        return reactor.PostAsync(() => begin().GetAwaiter().UnsafeOnCompleted(Throw)).Within();
#pragma warning restore CA2012
    }

    /// <summary>The peer hears of it, disposal ends, the engine's connection is given back, and the next one is served.</summary>
    private async Task AssertEndsAsync(Peer peer, ConnectionContext connection)
    {
        Reactor reactor = connection.Features.Get<IReactorFeature>()!.Reactor;
        await peer.ExpectResetAsync();
        await connection.ConnectionClosed.FiredAsync();
        await connection.DisposeAsync().AsTask().Within();
        await Waiting.UntilAsync(() => reactor.Connections.Count == 0, "the engine's connection ended");
        Assert.Contains(Logs.Entries, static entry => entry.Level == LogLevel.Error && entry.Event.Name == "Unexpected");

        Peer next = await ConnectAsync(Listeners[0].EndPoint);
        ConnectionContext served = await AcceptAsync(Listeners[0]);
        await next.SendAsync("next");
        Assert.Equal(4, (await served.Transport.Input.ReadAsync().Within()).Buffer.Length);
    }

    private sealed class Owner : ICallbackOwner
    {
        public OwnerWait Wait => OwnerWait.None;

        public bool BeginStall() => false;

        public void NoteBlocked(long callback, long blockedMs)
        {
        }

        public string Describe() => "a test's";

        public void Relieve()
        {
        }

        public void Fail(long stalledMs)
        {
        }
    }
}
