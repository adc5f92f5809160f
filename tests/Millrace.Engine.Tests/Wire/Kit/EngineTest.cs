using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Buffers;
using Millrace.Engine.Filters;
using Millrace.Tests.Shared;

namespace Millrace.Engine.Tests.Wire.Kit;

/// <summary>
/// What every test with a group owes at its end, whether it thinks of it or not: all groups stopped, all descriptors closed, all
/// blocks returned, no leak reported.
/// </summary>
[Collection(nameof(RealSockets))]
public abstract class EngineTest : IAsyncLifetime
{
    /// <summary>A wait longer than this is a hang. Generous, since the machine may be busy.</summary>
    internal static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly List<ReactorGroup> _groups = [];
    private readonly List<TestClient> _clients = [];
    private string[] _descriptorsAtStart = [];

    internal RecordingLog Log { get; } = new();

    /// <summary>One reactor, so that connections meet; tests change what they are about.</summary>
    internal EngineOptions Options => new() { Reactors = 1, LoggerFactory = Log };

    internal static IPEndPoint Loopback => new(IPAddress.Loopback, 0);

    public async ValueTask InitializeAsync()
    {
        await WarmUp.Once;
        BlockLeakDetector.Reports.Clear();
        _descriptorsAtStart = Descriptors();
    }

    public virtual async ValueTask DisposeAsync()
    {
        foreach (TestClient client in _clients)
        {
            client.Dispose();
        }

        foreach (ReactorGroup group in _groups)
        {
            await group.DisposeAsync().AsTask().WaitAsync(Patience);
        }

        foreach (Reactor reactor in _groups.SelectMany(static group => group.Reactors))
        {
            Assert.Equal(0, reactor.Connections.Count);
            Assert.Equal(0, reactor.Pools.Lent);
        }

        Assert.Empty(BlockLeakDetector.Reports);
        await Eventually(
            () => Descriptors().Length <= _descriptorsAtStart.Length,
            () => $"Open at the end: {string.Join(", ", Descriptors())}; at the start: {string.Join(", ", _descriptorsAtStart)}.");
        GC.SuppressFinalize(this);
    }

    internal async Task<ReactorGroup> Start(EngineOptions? options = null)
    {
        ReactorGroup group = await ReactorGroup.StartAsync((options ?? Options).ForRun());
        _groups.Add(group);
        return group;
    }

    /// <summary>Starts a group that serves the handler, on a loopback port unless told otherwise.</summary>
    internal async Task<TestServer> Serve(
        ConnectionHandler handler,
        EngineOptions? options = null,
        EndPoint? endPoint = null,
        Func<Connection, IReadOnlyList<ConnectionFilter>>? filters = null)
    {
        ReactorGroup group = await Start(options);
        Listener listener = await group.ListenAsync(endPoint ?? Loopback, handler, filters);
        return new TestServer(this, group, listener);
    }

    internal async Task<TestClient> Connect(EndPoint endPoint, int? receiveBufferBytes = null, IPAddress? from = null)
    {
        var client = new TestClient(endPoint.AddressFamily, receiveBufferBytes);
        lock (_clients)
        {
            _clients.Add(client);
        }

        if (from is not null)
        {
            client.Socket.Bind(new IPEndPoint(from, 0));
        }

        await client.Socket.ConnectAsync(endPoint).WaitAsync(Patience);
        return client;
    }

    /// <summary>Waits for something that no event tells of, such as a descriptor's end in the kernel.</summary>
    internal static async Task Eventually(Func<bool> condition, Func<string>? otherwise = null)
    {
        long start = Stopwatch.GetTimestamp();
        while (!condition())
        {
            if (Stopwatch.GetElapsedTime(start) > Patience)
            {
                Assert.Fail(otherwise?.Invoke() ?? "It did not come true in time.");
            }

            await Task.Delay(5);
        }
    }

    /// <summary>
    /// The sockets, rings and events that the process has open. Not files: the runtime opens assemblies and symbols as it goes.
    /// </summary>
    internal static string[] Descriptors()
    {
        IEnumerable<string?> targets = new DirectoryInfo("/proc/self/fd").EnumerateFileSystemInfos().Select(static info => info.LinkTarget);
        return [.. targets.OfType<string>().Where(static target => target.StartsWith("socket:", StringComparison.Ordinal)
            || target.StartsWith("anon_inode:", StringComparison.Ordinal))];
    }

    /// <summary>The runtime opens descriptors of its own for the first asynchronous sockets; they are nobody's leak.</summary>
    private static class WarmUp
    {
        public static readonly Task Once = RunAsync();

        private static async Task RunAsync()
        {
            for (int i = 0; i < 4; i++)
            {
                using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
                listener.Bind(Loopback);
                listener.Listen();
                using var client = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
                Task<Socket> accept = listener.AcceptAsync();
                await client.ConnectAsync(listener.LocalEndPoint!);
                using Socket accepted = await accept;
                Task<int> receive = client.ReceiveAsync(new byte[1]);
                await accepted.SendAsync(new byte[1]);
                await receive;
            }
        }
    }
}
