using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Buffers;
using Millrace.Engine.Filters;
using Millrace.Tests.Shared;

namespace Millrace.Engine.Tests.Kit;

/// <summary>
/// Starts groups for a test and proves at its end that nothing is left of them: descriptors are back to the count before, slots and
/// blocks were returned, no leak is reported.
/// </summary>
public abstract class EngineTest : IAsyncLifetime
{
    /// <summary>Far beyond what anything here takes; reached only by a test that hangs.</summary>
    internal static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly List<ReactorGroup> _groups = [];
    private readonly List<IDisposable> _resources = [];
    private string[] _descriptorsBefore = [];

    internal LogCapture Log { get; } = new();

    public async ValueTask InitializeAsync()
    {
        await WarmUp.Once;
        Collect();
        BlockLeakDetector.Reports.Clear();
        _descriptorsBefore = Descriptors();
    }

    public async ValueTask DisposeAsync()
    {
        foreach (IDisposable resource in _resources)
        {
            resource.Dispose();
        }

        foreach (ReactorGroup group in _groups)
        {
            await group.StopAsync(TimeSpan.FromSeconds(5)).Within();
            foreach (Reactor reactor in group.Reactors)
            {
                Assert.Equal((0, 0), (reactor.Connections.Count, reactor.Pools.Lent));
            }
        }

        Assert.Equal([], BlockLeakDetector.Reports);
        await NoDescriptorIsLeftAsync();
        GC.SuppressFinalize(this);
    }

    internal async Task<ReactorGroup> StartAsync(EngineOptions? options = null)
    {
        ReactorGroup group = await ReactorGroup.StartAsync(Shaped(options ?? Options()).ForRun() with { LoggerFactory = Log }).Within();
        _groups.Add(group);
        return group;
    }

    /// <summary>The options as a class of tests wants them that runs those of another one.</summary>
    internal virtual EngineOptions Shaped(EngineOptions options) => options;

    /// <summary>A group with one listener on a free port of the loopback.</summary>
    internal async Task<Listener> ServeAsync(
        ConnectionHandler handler, EngineOptions? options = null, EndPoint? endPoint = null, Func<Connection, IReadOnlyList<ConnectionFilter>>? filters = null)
    {
        ReactorGroup group = await StartAsync(options);
        return await group.ListenAsync(endPoint ?? new IPEndPoint(IPAddress.Loopback, 0), handler, filters).Within();
    }

    /// <summary>One reactor, and little of everything: tests start many.</summary>
    internal static EngineOptions Options(Limits? limits = null) => new() { Reactors = 1, ReceiveBuffers = 64, Limits = limits ?? new Limits() };

    internal async Task<Client> ConnectAsync(Listener listener) => Keep(await Client.ConnectAsync(listener.EndPoint));

    /// <summary>Connects to a listener that resets at once: the reset may meet the connect or the first receive.</summary>
    internal static async Task ExpectResetAsync(Listener listener)
    {
        SocketException error = await Assert.ThrowsAsync<SocketException>(async () =>
        {
            using Client client = await Client.ConnectAsync(listener.EndPoint);
            await client.ReceiveToEndAsync();
        });
        Assert.Equal(SocketError.ConnectionReset, error.SocketErrorCode);
    }

    internal T Keep<T>(T resource)
        where T : IDisposable
    {
        _resources.Add(resource);
        return resource;
    }

    internal ReactorGroup Group => _groups[^1];

    internal Reactor Reactor => Group.Reactors[0];

    private async Task NoDescriptorIsLeftAsync()
    {
        string[] left = [];
        for (var watch = Stopwatch.StartNew(); watch.Elapsed < Patience; await Task.Delay(5))
        {
            left = Descriptors();
            if (left.Length <= _descriptorsBefore.Length)
            {
                return;
            }

            // A socket that a failed connect forgot is the client's, and closed by its finalizer.
            Collect();
        }

        Assert.Fail($"Descriptors are left: {string.Join(", ", left.Except(_descriptorsBefore))}");
    }

    private static void Collect()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
    }

    private static string[] Descriptors() => [.. Directory.GetFiles("/proc/self/fd").Select(Describe).Where(static target => target.Length > 0)];

    /// <summary>Nothing for the one that the enumeration itself needs, and for code that the runtime loads when it is first used.</summary>
    private static string Describe(string path)
    {
        // Null for one that was closed since it was listed.
        string target = new FileInfo(path).LinkTarget ?? "";
        bool isOurs = target.Length > 0 && !target.StartsWith("/proc/", StringComparison.Ordinal)
            && Path.GetExtension(target) is not (".dll" or ".so" or ".pdb");
        return isOurs ? $"{Path.GetFileName(path)} -> {Path.GetFileName(target)}" : "";
    }

    /// <summary>What the runtime opens at the first use of a socket and keeps.</summary>
    private static class WarmUp
    {
        public static readonly Task Once = RunAsync();

        private static async Task RunAsync()
        {
            using var listener = new Socket(SocketType.Stream, ProtocolType.Tcp);
            listener.Bind(new IPEndPoint(IPAddress.IPv6Loopback, 0));
            listener.Listen();
            Task<Socket> accept = listener.AcceptAsync();
            using Client client = await Client.ConnectAsync(listener.LocalEndPoint!);
            using Socket accepted = await accept;
            Task<byte[]> receive = client.ReceiveAsync(1);
            await accepted.SendAsync(new byte[] { 1 });
            await receive;
        }
    }
}
