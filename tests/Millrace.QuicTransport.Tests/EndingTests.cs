using System.Collections.Concurrent;
using System.Net;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Quic;
using Millrace.Quic.Connections;
using Millrace.Quic.Protection;
using Millrace.Quic.Streams;
using Millrace.QuicTransport.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.QuicTransport.Tests;

/// <summary>How connections and listeners end.</summary>
public class EndingTests : QuicTransportTest
{
    [Fact]
    public async Task A_connections_round_trip_time_is_reported_once_at_its_end()
    {
        var times = new ConcurrentQueue<long>();
        QuicListener listener = await ListenAsync(change: options => options with { OnRoundTripTime = times.Enqueue });
        TestClient client = await ConnectAsync(listener);
        await client.EchoAsync(10).Within();
        Assert.Empty(times);
        await Reactor.AskAsync(() =>
        {
            client.Connection.Close(0, "");
            return true;
        });
        await Waiting.UntilAsync(() => listener.Reactors[0].Connections == 0, "the connection is forgotten");
        Assert.InRange(Assert.Single(times), 1, 5 * QuicClock.Second);
    }

    [Fact]
    public async Task What_is_thrown_where_a_round_trip_time_is_reported_keeps_no_handler_from_the_end_of_its_connection()
    {
        var closed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        QuicListener listener = await ListenAsync(
            createHandler: connection => new EndedHandler(connection, closed),
            change: static options => options with { OnRoundTripTime = static _ => throw new NotSupportedException("as the test wants it") });
        TestClient client = await ConnectAsync(listener);
        await client.EchoAsync(10).Within();
        await client.CloseAsync();
        await closed.Task.Within();
        await Waiting.UntilAsync(() => listener.Reactors[0].Connections == 0, "the connection is forgotten");
        Assert.Equal(0, Sum(listener, static counters => counters.Connections));
        Assert.Contains(Log.Entries, static entry => entry.Error is NotSupportedException);
    }

    [Fact]
    public async Task A_stop_asks_handlers_to_end_and_waits_for_them()
    {
        QuicListener listener = await ListenAsync(reactors: 2);
        TestClient idle = await ConnectAsync(listener);
        await idle.EchoAsync(10).Within();
        await listener.StopAsync(TimeSpan.FromSeconds(30)).Within();
        CloseReason reason = await idle.Closed.Within();
        Assert.Equal((CloseSource.Peer, true, EchoHandler.ClosedByDrain), (reason.Source, reason.IsApplication, reason.Code));
        await AssertNothingIsHeldAsync(Group);
    }

    [Fact]
    public async Task Connections_that_do_not_end_are_closed_at_the_deadline_with_the_code_of_the_options()
    {
        QuicListener listener = await ListenAsync(createHandler: static _ => new IdleHandler(), change: static options => options with { StopCode = 99 });
        TestClient client = await ConnectAsync(listener);
        await client.Connected.Within();
        await listener.StopAsync(TimeSpan.FromMilliseconds(50)).Within();
        CloseReason reason = await client.Closed.Within();
        Assert.Equal((CloseSource.Peer, true, 99L), (reason.Source, reason.IsApplication, reason.Code));
    }

    [Fact]
    public async Task A_group_that_stops_at_the_same_time_leaves_the_time_to_close_connections()
    {
        QuicListener listener = await ListenAsync(reactors: 2, createHandler: static _ => new IdleHandler());
        ReactorGroup group = Group;
        ReactorGroup clients = await StartAsync();
        TestClient client = await ConnectAsync(listener, clients.Reactors[0]);
        await client.Connected.Within();
        await Task.WhenAll(listener.StopAsync(TimeSpan.FromSeconds(1)), group.StopAsync(TimeSpan.FromSeconds(1))).Within();
        Assert.Equal(CloseSource.Peer, (await client.Closed.Within()).Source);
    }

    /// <summary>More than a socket sends at once.</summary>
    [Fact]
    public async Task All_of_many_connections_are_told_of_their_end_at_the_deadline()
    {
        const int Count = 300;
        QuicListener listener = await ListenAsync(createHandler: static _ => new IdleHandler());
        ReactorGroup clients = await StartAsync();
        var connected = new List<TestClient>();
        while (connected.Count < Count)
        {
            TestClient client = await ConnectAsync(listener, clients.Reactors[0]);
            await client.Connected.Within();
            connected.Add(client);
        }

        await listener.StopAsync(TimeSpan.FromMilliseconds(50)).Within();
        foreach (TestClient client in connected)
        {
            Assert.Equal(CloseSource.Peer, (await client.Closed.Within()).Source);
        }
    }

    /// <summary>As of a file on a disk that does not answer.</summary>
    [Fact]
    public async Task A_stop_ends_with_its_group_also_if_something_is_kept()
    {
        QuicListener listener = await ListenAsync(createHandler: static connection => new KeepingHandler(connection));
        ReactorGroup group = Group;
        ReactorGroup clients = await StartAsync();
        TestClient client = await ConnectAsync(listener, clients.Reactors[0]);
        await client.Connected.Within();
        await Task.WhenAll(listener.StopAsync(TimeSpan.Zero), group.StopAsync(TimeSpan.Zero)).Within();
    }

    [Fact]
    public async Task A_listener_that_stops_may_accept_connections_again_and_closes_the_earlier_ones_in_time()
    {
        int handlers = 0;
        QuicListener listener = await ListenAsync(
            reactors: 2,
            createHandler: _ =>
            {
                Interlocked.Increment(ref handlers);
                return new IdleHandler();
            },
            change: static options => options with { StopCode = 99 });
        Assert.False(listener.TryResume());
        TestClient earlier = await ConnectAsync(listener);

        // The client's handshake is complete before the server's: one that is not when the listener resumes is a later connection.
        await Waiting.UntilAsync(() => Volatile.Read(ref handlers) == 1, "the server's handshake is complete");
        Task stop = listener.StopAsync(TimeSpan.FromSeconds(1));
        Assert.True(listener.TryResume());
        TestClient later = await ConnectAsync(listener);
        await later.Connected.Within();
        Assert.Equal(99, (await earlier.Closed.Within()).Code);
        await stop.Within();
        TestClient last = await ConnectAsync(listener);
        await last.Connected.Within();
        Assert.False(later.Closed.IsCompleted);

        await listener.StopAsync(TimeSpan.Zero).Within();
        Assert.Equal(99, (await later.Closed.Within()).Code);
        Assert.False(listener.TryResume());
        await AssertNothingIsHeldAsync(Group);
    }

    [Fact]
    public async Task A_listener_that_accepts_connections_again_may_stop_again()
    {
        QuicListener listener = await ListenAsync();
        TestClient first = await ConnectAsync(listener);
        await first.EchoAsync(10).Within();
        Task[] stops = [listener.StopAsync(TimeSpan.FromSeconds(30)), Task.CompletedTask];
        if (listener.TryResume())
        {
            TestClient second = await ConnectAsync(listener);
            await second.EchoAsync(10).Within();
            stops[1] = listener.StopAsync(TimeSpan.FromSeconds(30));
            Assert.Equal(EchoHandler.ClosedByDrain, (await second.Closed.Within()).Code);
        }

        Assert.Equal(EchoHandler.ClosedByDrain, (await first.Closed.Within()).Code);
        await Task.WhenAll(stops).Within();
        await AssertNothingIsHeldAsync(Group);
    }

    [Fact]
    public async Task While_a_listener_stops_new_connections_are_refused()
    {
        QuicListener listener = await ListenAsync(createHandler: static _ => new IdleHandler());
        TestClient client = await ConnectAsync(listener);
        await client.Connected.Within();
        Task stop = listener.StopAsync(TimeSpan.FromSeconds(30));
        await Waiting.UntilAsync(() => listener.Reactors[0].IsStopping, "the stop has begun");
        TestClient late = await ConnectAsync(listener);
        CloseReason reason = await late.Closed.Within();
        Assert.Equal((CloseSource.Peer, (long)TransportErrorCode.ConnectionRefused), (reason.Source, reason.Code));
        Assert.Equal(1, Sum(listener, static counters => counters.Refused));
        await client.CloseAsync();
        await stop.Within();
    }

    /// <summary>The kernel reports the closed port to nobody who waits: the idle timeout ends it.</summary>
    [Fact]
    public async Task A_group_that_stops_before_its_listener_ends_its_connections()
    {
        QuicListener listener = await ListenAsync(createHandler: static _ => new IdleHandler());
        ReactorGroup clients = await StartAsync();
        TestClient client = await ConnectAsync(listener, clients.Reactors[0], Settings with { IdleTimeout = 300 * QuicClock.Millisecond });
        await client.Connected.Within();
        await listener.Reactors[0].Reactor.StopAsync(TimeSpan.Zero).Within();
        Assert.Equal(CloseSource.Timeout, (await client.Closed.Within()).Source);
        await listener.StopAsync(TimeSpan.FromSeconds(30)).Within();
    }

    [Fact]
    public async Task What_a_handler_throws_closes_its_connection_only()
    {
        QuicListener listener = await ListenAsync(createHandler: static connection => new ThrowingHandler(connection));
        TestClient sound = await ConnectAsync(listener);
        await sound.EchoAsync(1000).Within();
        TestClient failing = await ConnectAsync(listener);
        await Assert.ThrowsAsync<InvalidOperationException>(() => failing.EchoAsync(ThrowingHandler.Length).Within());
        CloseReason reason = await failing.Closed.Within();
        Assert.Equal((CloseSource.Peer, false, (long)TransportErrorCode.InternalError), (reason.Source, reason.IsApplication, reason.Code));
        await sound.EchoAsync(1000).Within();
        Assert.Contains(Log.Entries, static entry => entry.Error is NotSupportedException);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_fault_within_a_connection_ends_that_connection_only(bool isAtItsBegin)
    {
        FaultyHandshake? faulty = null;
        QuicListener listener = await ListenAsync(change: options => options with
        {
            CreateHandshake = connection => faulty is null
                ? faulty = new FaultyHandshake(isAtItsBegin)
                : new TestHandshake(new TestHandshakeOptions { Seed = NextSeed() }, isServer: true),
        });
        ReactorGroup clients = await StartAsync();
        TestClient failing = await ConnectAsync(listener, clients.Reactors[0]);
        CloseReason reason = await failing.Closed.Within();
        Assert.Equal((CloseSource.Peer, (long)TransportErrorCode.InternalError), (reason.Source, reason.Code));
        TestClient sound = await ConnectAsync(listener, clients.Reactors[0]);
        await sound.EchoAsync(1000).Within();
        Assert.Contains(Log.Entries, static entry => entry.Error is NotSupportedException);
        await Waiting.UntilAsync(() => listener.Reactors[0].Connections == 1, "the connection is forgotten");
        Assert.True(faulty!.IsDisposed);
    }

    [Fact]
    public async Task A_handshake_that_cannot_be_made_refuses_the_connection()
    {
        QuicListener listener = await ListenAsync(change: static options => options with { CreateHandshake = static _ => null });
        TestClient client = await ConnectAsync(listener);
        Assert.Equal((long)TransportErrorCode.ConnectionRefused, (await client.Closed.Within()).Code);
        await AssertNothingIsHeldAsync(Group);
    }

    [Fact]
    public async Task A_handshake_that_fails_leaves_nothing()
    {
        const byte Alert = 40;
        bool hasHandler = false;
        QuicListener listener = await ListenAsync(
            createHandler: connection =>
            {
                hasHandler = true;
                return new EchoHandler(connection);
            },
            change: static options => options with
            {
                CreateHandshake = static _ => new TestHandshake(new TestHandshakeOptions { Seed = NextSeed(), FailWith = Alert }, isServer: true),
            });
        TestClient client = await ConnectAsync(listener);
        CloseReason reason = await client.Closed.Within();
        Assert.Equal((CloseSource.Peer, (long)TransportErrorCode.CryptoError + Alert), (reason.Source, reason.Code));
        Assert.False(hasHandler);
        await Waiting.UntilAsync(() => listener.Counters[0].HandshakesFailed == 1, "the failure is counted");
        await Waiting.UntilAsync(() => listener.Reactors[0].Connections == 0, "the connection is forgotten");
        await AssertNothingIsHeldAsync(Group);
    }

    [Fact]
    public async Task Connections_beyond_the_limit_of_a_client_are_refused()
    {
        ReactorGroup group = await StartAsync(Options(new Limits { ConnectionsPerClient = 2 }));
        QuicListener listener = await ListenAsync(group);
        TestClient first = await ConnectAsync(listener);
        TestClient second = await ConnectAsync(listener);
        await first.EchoAsync(1).Within();
        await second.EchoAsync(1).Within();
        TestClient third = await ConnectAsync(listener);
        CloseReason reason = await third.Closed.Within();
        Assert.Equal((CloseSource.Peer, (long)TransportErrorCode.ConnectionRefused), (reason.Source, reason.Code));
        await first.CloseAsync();
        await Waiting.UntilAsync(() => listener.Reactors[0].Connections == 1, "two connections are forgotten");
        TestClient fourth = await ConnectAsync(listener);
        await fourth.EchoAsync(1).Within();
    }

    [Fact]
    public async Task An_idle_connection_ends_after_its_timeout()
    {
        QuicListener listener = await ListenAsync(
            change: static options => options with { Settings = Settings with { IdleTimeout = 100 * QuicClock.Millisecond } });
        TestClient client = await ConnectAsync(listener);
        await client.Connected.Within();
        Assert.Equal(CloseSource.Timeout, (await client.Closed.Within()).Source);
        await Waiting.UntilAsync(() => listener.Counters[0].TimedOut == 1, "the server's end has timed out");
        await AssertNothingIsHeldAsync(Group);
    }

    [Fact]
    [Trait("Rfc", "9000-10.3")]
    public async Task A_restarted_server_resets_connections_that_it_does_not_know()
    {
        QuicListener first = await ListenAsync(reactors: 2);
        ReactorGroup clients = await StartAsync();
        TestClient client = await ConnectAsync(first, clients.Reactors[0]);
        await client.EchoAsync(10).Within();
        IPEndPoint endPoint = first.LocalEndPoint;

        // A stop without a word, as of a process that was killed.
        foreach (QuicReactor reactor in first.Reactors)
        {
            await reactor.Reactor.AskAsync(() =>
            {
                reactor.Abort();
                return true;
            });
        }

        await first.StopAsync(TimeSpan.Zero).Within();
        QuicListener second = await ListenAsync(reactors: 3, endPoint: endPoint);
        _ = client.EchoAsync(10);
        Assert.Equal(CloseSource.StatelessReset, (await client.Closed.Within()).Source);

        // Of the first one too: the client may have sent something before its sockets were closed.
        long resets = Sum(first, static counters => counters.StatelessResets) + Sum(second, static counters => counters.StatelessResets);
        Assert.InRange(resets, 1, long.MaxValue);
    }

    [Fact]
    [Trait("Rfc", "9000-8.1.2")]
    public async Task Under_load_a_client_has_to_prove_its_address()
    {
        QuicListener listener = await ListenAsync(reactors: 2, change: static options => options with { Limits = new EndpointLimits { RetryAbove = 0 } });
        TestClient client = await ConnectAsync(listener);
        await client.EchoAsync(1000).Within();
        Assert.Equal(1, Sum(listener, static counters => counters.Retries));
    }

    private sealed class IdleHandler : QuicServerHandler
    {
        public override void OnHandshakeComplete(QuicConnection connection)
        {
        }

        public override void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
        {
        }

        public override void OnClosed(QuicConnection connection, in CloseReason reason)
        {
        }

        public override void BeginDrain()
        {
        }
    }

    /// <summary>Throws at the client's first message or at a later one, as OpenSSL's does without memory.</summary>
    private sealed class FaultyHandshake(bool isAtItsBegin) : QuicHandshake
    {
        private readonly TestHandshake _inner = new(new TestHandshakeOptions { Seed = NextSeed() }, isServer: true);

        public bool IsDisposed { get; private set; }

        public override bool IsComplete => _inner.IsComplete;

        public override ReadOnlySpan<byte> ApplicationProtocol => _inner.ApplicationProtocol;

        public override void Start(ReadOnlySpan<byte> transportParameters, IHandshakeSink sink) => _inner.Start(transportParameters, sink);

        public override void Receive(EncryptionLevel level, ReadOnlySpan<byte> bytes, IHandshakeSink sink)
        {
            if (isAtItsBegin || level != EncryptionLevel.Initial)
            {
                throw new NotSupportedException("as the test wants it");
            }

            _inner.Receive(level, bytes, sink);
        }

        public override void Dispose()
        {
            IsDisposed = true;
            _inner.Dispose();
        }
    }

    private sealed class EndedHandler(QuicServerConnection connection, TaskCompletionSource closed) : EchoHandler(connection)
    {
        public override void OnClosed(QuicConnection connection, in CloseReason reason) => closed.TrySetResult();
    }

    private sealed class KeepingHandler(QuicServerConnection connection) : EchoHandler(connection)
    {
        public override void OnClosed(QuicConnection connection, in CloseReason reason) => Transport.KeepHoldings();
    }

    private sealed class ThrowingHandler(QuicServerConnection connection) : EchoHandler(connection)
    {
        public const int Length = 777;

        public override void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
        {
            if (stream.TryRead(out ReadOnlySpan<byte> bytes) && bytes.Length == Length)
            {
                throw new NotSupportedException("as the test wants it");
            }

            base.OnStream(connection, stream, events);
        }
    }
}
