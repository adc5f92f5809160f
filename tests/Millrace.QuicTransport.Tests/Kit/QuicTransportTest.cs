using System.Net;
using Millrace.Engine;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Tests.Kit;
using Millrace.Quic.Connections;
using Millrace.Tests.Shared;

namespace Millrace.QuicTransport.Tests.Kit;

/// <summary>Listeners and clients over real sockets of the loopback, with handshakes for tests. At the end nothing is left of them.</summary>
public abstract class QuicTransportTest : EngineTest, IAsyncLifetime
{
    private static int SeedsMade;

    private readonly List<QuicListener> _listeners = [];

    async ValueTask IAsyncDisposable.DisposeAsync()
    {
        foreach (QuicListener listener in _listeners)
        {
            await listener.StopAsync(TimeSpan.Zero).Within();
        }

        await DisposeAsync();
        EndResources();
        GC.SuppressFinalize(this);
    }

    /// <summary>Called when all groups have stopped.</summary>
    private protected virtual void EndResources()
    {
    }

    internal static QuicSettings Settings { get; } = new() { IdleTimeout = 20 * QuicClock.Second };

    /// <summary>Serves echoes, unless the options say something else, on a free port of the loopback.</summary>
    internal async Task<QuicListener> ListenAsync(
        int reactors = 1, Func<QuicServerConnection, QuicServerHandler>? createHandler = null,
        Func<QuicListenerOptions, QuicListenerOptions>? change = null, DatagramSettings? sockets = null, IPEndPoint? endPoint = null)
    {
        ReactorGroup group = await StartAsync(Options() with { Reactors = reactors });
        return await ListenAsync(group, createHandler, change, sockets, endPoint);
    }

    internal async Task<QuicListener> ListenAsync(
        ReactorGroup group, Func<QuicServerConnection, QuicServerHandler>? createHandler = null,
        Func<QuicListenerOptions, QuicListenerOptions>? change = null, DatagramSettings? sockets = null, IPEndPoint? endPoint = null)
    {
        QuicListenerOptions options = new()
        {
            Settings = Settings,
            CreateCryptography = static _ => new TestCryptography(NextSeed()),
            CreateHandshake = static _ => new TestHandshake(new TestHandshakeOptions { Seed = NextSeed() }, isServer: true),
            CreateHandler = createHandler ?? (static connection => new EchoHandler(connection)),
        };
        options = change is null ? options : change(options);
        DatagramSockets bound = DatagramSockets.Open(
            endPoint ?? new IPEndPoint(IPAddress.Loopback, 0), group.Reactors.Count, sockets ?? new DatagramSettings());
        QuicListener listener = await QuicListener.ListenAsync(group, bound, options, Log).Within();
        _listeners.Add(listener);
        return listener;
    }

    /// <summary>Begins a connection on the group's first reactor, or another one.</summary>
    internal Task<TestClient> ConnectAsync(QuicListener listener, Reactor? reactor = null, QuicSettings? settings = null) =>
        ConnectAsync(listener.LocalEndPoint, reactor, settings);

    internal async Task<TestClient> ConnectAsync(IPEndPoint endPoint, Reactor? reactor = null, QuicSettings? settings = null)
    {
        reactor ??= Reactor;
        TestClient client = new();
        client.Connection = await reactor.AskAsync(() => Connect(endPoint, reactor, settings, client));
        return client;
    }

    /// <summary>Sends a client's first packets, and forgets the connection.</summary>
    internal Task ConnectOnceAsync(QuicListener listener, Reactor reactor) => reactor.AskAsync(() =>
    {
        QuicClientConnection connection = Connect(listener.LocalEndPoint, reactor, settings: null, new TestClient());
        reactor.Defer(static connection => ((QuicClientConnection)connection!).Owner.Abort(), connection);
        return true;
    });

    internal static ulong NextSeed() => (ulong)Interlocked.Increment(ref SeedsMade);

    internal static long Sum(QuicListener listener, Func<QuicListenerCounters, long> of) => listener.Counters.Sum(of);

    /// <summary>Of memory of QUIC's streams and of clients' accounts, nothing is left on any reactor.</summary>
    internal static async Task AssertNothingIsHeldAsync(ReactorGroup group)
    {
        foreach (Reactor reactor in group.Reactors)
        {
            Assert.Equal((0L, 0), await reactor.AskAsync(() => (reactor.Accounts.StateBytes, reactor.Accounts.Clients)));
        }
    }

    private QuicClientConnection Connect(IPEndPoint endPoint, Reactor reactor, QuicSettings? settings, TestClient client) =>
        QuicClient.Connect(
            reactor, endPoint, settings ?? Settings, new TestCryptography(NextSeed()), MakeClientHandshake(), client,
            new QuicTransportLog(Log));

    private static TestHandshake MakeClientHandshake() =>
        new TestHandshake(new TestHandshakeOptions { Seed = NextSeed() }, isServer: false);
}
