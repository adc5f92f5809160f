using System.Buffers;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine;

namespace Millrace.AspNetCore.Transport.Listening;

/// <summary>
/// The reactors that all addresses of a server share, each with a pool of memory for its pipes. Started with the first address; stopped
/// at the end unless they were given. Any thread.
/// </summary>
internal sealed class TransportReactors(
    MillraceTransportOptions options, IMemoryPoolFactory<byte>? pools, ILoggerFactory logs, TransportLog log) : IAsyncDisposable
{
    private const string PoolOwner = "millrace";

    /// <summary>Reactors end at once but for one that a handler blocks; a process that is to end does not wait for that.</summary>
    private static readonly TimeSpan EndPatience = TimeSpan.FromSeconds(5);

    private readonly SemaphoreSlim _gate = new(1, 1);
    private ReactorGroup? _group;
    private MemoryPool<byte>[] _memory = [];
    private bool _isDisposed;

    /// <summary>By reactor, once they have started.</summary>
    internal IReadOnlyList<MemoryPool<byte>> Pools => _memory;

    /// <exception cref="EngineException">The host does not let reactors start; the message names cause and remedy.</exception>
    public async Task<ReactorGroup> StartedAsync(CancellationToken cancellation)
    {
        await _gate.WaitAsync(cancellation);
        try
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            if (_group is null)
            {
                ReactorGroup group = options.ReactorGroup ?? await ReactorGroup.StartAsync(OwnOptions());
                _memory = [.. group.Reactors.Select(NewPool)];
                _group = group;
            }

            return _group;
        }
        finally
        {
            _gate.Release();
        }
    }

    /// <summary>The pipes of one address, by reactor. The reactors have started.</summary>
    public ConnectionPipes[] PipesFor(EndPointSettings settings) =>
        [.. _group!.Reactors.Select(reactor => new ConnectionPipes(reactor, _memory[reactor.Index], settings))];

    public async ValueTask DisposeAsync()
    {
        await _gate.WaitAsync();
        try
        {
            if (_isDisposed)
            {
                return;
            }

            _isDisposed = true;
            if (_group is not null && !await Patiently.IsDoneAsync(EndAsync(_group), EndPatience))
            {
                log.ReactorsLeft(EndPatience);
            }
        }
        finally
        {
            _gate.Release();
        }
    }

    private async Task EndAsync(ReactorGroup group)
    {
        if (options.ReactorGroup is null)
        {
            await group.DisposeAsync();
        }

        foreach ((Reactor reactor, MemoryPool<byte> memory) in group.Reactors.Zip(_memory))
        {
            await DisposeAtHomeAsync(reactor, memory);
        }
    }

    /// <summary>
    /// Reactors that were given go on, and with them connections of this server that end late: their blocks come back on the reactor's
    /// thread. The caller is not to go on there.
    /// </summary>
    private static Task DisposeAtHomeAsync(Reactor reactor, MemoryPool<byte> memory)
    {
        if (memory == MemoryPool<byte>.Shared)
        {
            return Task.CompletedTask;
        }

        var disposed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        reactor.PostContinuation(
            _ =>
            {
                memory.Dispose();
                disposed.SetResult();
            },
            null);
        return disposed.Task;
    }

    /// <summary>
    /// Kestrel has limits of its own (connections, data rates) and the last word on them, so the engine's, made for servers without, are
    /// as far away as they go.
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
            // Who waits for the application has a pipe to fill, by MaxReadBufferSize; what comes behind that is to be the least.
            InputHighWaterBytes = 4096,
            WriteStall = TimeSpan.FromDays(1),
            WriteBytesPerSecond = 0,
        },
    };

    /// <summary>
    /// Kestrel's pool has blocks that are pinned, and gives back what is not used. Without Kestrel there is the shared one.
    /// </summary>
    private MemoryPool<byte> NewPool(Reactor reactor) =>
        pools is null ? MemoryPool<byte>.Shared : new HomeMemoryPool(reactor, pools.Create(new MemoryPoolOptions { Owner = PoolOwner }));
}
