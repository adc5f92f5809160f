using System.Buffers;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine;
using Millrace.Interop.Memory;

namespace Millrace.AspNetCore.Transport.Listening;

/// <summary>
/// The reactors that all endpoints of a server share, each with a memory pool for its pipes. Started with the first endpoint; stopped on
/// disposal unless the application supplied the group. Any thread.
/// </summary>
internal sealed class TransportReactors(
    MillraceTransportOptions options,
    IMemoryPoolFactory<byte>? pools,
    ILoggerFactory logs,
    TransportLog log,
    SocketTransportOptions? sockets = null) : IAsyncDisposable
{
    private const string PoolOwner = "millrace";

    /// <summary>Reactors end at once unless a handler blocks one; process exit does not wait longer for that.</summary>
    private static readonly TimeSpan EndTimeout = TimeSpan.FromSeconds(5);

    private readonly SemaphoreSlim _semaphore = new(1, 1);
    private ReactorGroup? _group;
    private MemoryPool<byte>[] _memory = [];
    private bool _isDisposed;

    /// <summary>By reactor index, after the start.</summary>
    internal IReadOnlyList<MemoryPool<byte>> Pools => _memory;

    /// <exception cref="EngineException">The host does not allow reactors to start; the message names cause and remedy.</exception>
    public async Task<ReactorGroup> StartedAsync(CancellationToken cancellation)
    {
        await _semaphore.WaitAsync(cancellation);
        try
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            if (_group is null)
            {
                ReactorGroup group = options.ReactorGroup ?? await ReactorGroup.StartAsync(OwnOptions());
                try
                {
                    _memory = [.. group.Reactors.Select(NewPool)];
                }
                catch when (options.ReactorGroup is null)
                {
                    await group.DisposeAsync();
                    throw;
                }

                _group = group;
                LogServing(group);
            }

            return _group;
        }
        finally
        {
            _semaphore.Release();
        }
    }

    private void LogServing(ReactorGroup group)
    {
        TransportLog server = TransportLog.Of(logs);
        server.Serving(group.Reactors.Count, group.BackendName);
        if (sockets is not null && string.Join(", ", IgnoredSocketOptions.In(sockets, options)) is { Length: > 0 } ignored)
        {
            server.SocketOptionsIgnored(ignored);
        }
    }

    /// <summary>The pipes of one endpoint, by reactor index. The reactors must have started.</summary>
    public ConnectionPipes[] PipesFor(EndPointSettings settings) =>
        [.. _group!.Reactors.Select(reactor => new ConnectionPipes(reactor, _memory[reactor.Index], settings))];

    public async ValueTask DisposeAsync()
    {
        await _semaphore.WaitAsync();
        try
        {
            if (_isDisposed)
            {
                return;
            }

            _isDisposed = true;
            if (_group is not null && !await EndsInTimeAsync(EndAsync(_group), EndTimeout))
            {
                log.ReactorsLeft(EndTimeout);
            }
        }
        finally
        {
            _semaphore.Release();
        }
    }

    /// <summary>
    /// Waits for reactors, which a handler that never returns blocks forever. True if the task ended in time; its exception is rethrown
    /// then. Otherwise it continues unobserved.
    /// </summary>
    public static async Task<bool> EndsInTimeAsync(Task task, TimeSpan timeout)
    {
        await task.WaitAsync(timeout).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (!task.IsCompleted)
        {
            return false;
        }

        await task.ConfigureAwait(false);
        return true;
    }

    private async Task EndAsync(ReactorGroup group)
    {
        if (options.ReactorGroup is null)
        {
            await group.DisposeAsync();
        }

        foreach ((Reactor reactor, MemoryPool<byte> memory) in group.Reactors.Zip(_memory))
        {
            try
            {
                // Reactors supplied by the application continue, and connections of this server that end late return their blocks there.
                await reactor.PostAsync(memory.Dispose);
            }
            catch (ObjectDisposedException) when (reactor.HasEnded)
            {
                memory.Dispose();
            }
        }
    }

    /// <summary>
    /// Kestrel enforces its own limits (connections, data rates), so the engine's, made for servers without such limits, are as permissive
    /// as possible.
    /// </summary>
    private EngineOptions OwnOptions() => new()
    {
        Reactors = options.ReactorCount,
        Backend = options.Backend,
        WatchForStalls = options.WatchForStalls,
        LoggerFactory = logs,
        Limits = new Limits
        {
            Connections = int.MaxValue,
            ConnectionsPerClient = 0,
            Refusals = 0,
            // The engine does not see what Kestrel and the application hold for a connection.
            BufferBytes = ProcessMemory.Bytes,
            // While the application is slow, input fills its pipe up to MaxReadBufferSize; the buffer behind it is to be minimal.
            InputHighWaterBytes = 4096,
            WriteStall = TimeSpan.FromDays(1),
            WriteBytesPerSecond = 0,
        },
    };

    /// <summary>Kestrel's pool has pinned blocks and returns unused memory. Without Kestrel it is the shared pool.</summary>
    private MemoryPool<byte> NewPool(Reactor reactor) =>
        pools is null ? MemoryPool<byte>.Shared : new ReactorMemoryPool(reactor, pools.Create(new MemoryPoolOptions { Owner = PoolOwner }));
}
