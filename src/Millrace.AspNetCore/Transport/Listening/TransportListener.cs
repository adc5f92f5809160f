using System.Net;
using System.Threading.Channels;
using Microsoft.AspNetCore.Connections;
using Millrace.AspNetCore.Https;
using Millrace.AspNetCore.Transport.Connections;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine;
using Millrace.Engine.Filters;
using Millrace.Engine.Listening;

namespace Millrace.AspNetCore.Transport.Listening;

/// <summary>
/// One endpoint of Kestrel's, served by all reactors. Accepted connections wait in a queue for Kestrel's accept loop; accepting never
/// fails, it only ends.
/// </summary>
internal sealed class TransportListener : IConnectionListener
{
    /// <summary>
    /// A reactor that has not stopped by then is blocked by a handler. Kestrel asks connections to end, and aborts those that do not, only
    /// after this.
    /// </summary>
    private static readonly TimeSpan StopTimeout = TimeSpan.FromSeconds(3);

    private readonly ReactorGroup _group;
    private readonly EndPointSettings _settings;
    private readonly TransportLog _log;
    private readonly ConnectionPipes[] _pipes;
    private readonly ListenerTls? _tls;
    private readonly Channel<TransportConnection> _accepted =
        Channel.CreateUnbounded<TransportConnection>(new UnboundedChannelOptions { SingleReader = true });

    /// <summary>Set when the endpoint is bound; connections may arrive a moment earlier.</summary>
    private Listener _listener = null!;
    private Task? _unbinding;

    private TransportListener(
        ReactorGroup group, EndPointSettings settings, ConnectionPipes[] pipes, TransportLog log, ListenerTls? tls)
    {
        _group = group;
        _settings = settings;
        _pipes = pipes;
        _log = log;
        _tls = tls;
    }

    public EndPoint EndPoint => _listener.EndPoint;

    /// <summary>Takes ownership of <paramref name="tls"/>, unless it throws.</summary>
    /// <exception cref="EngineException">The endpoint cannot be bound; the message says why.</exception>
    public static async Task<TransportListener> BindAsync(
        ReactorGroup group, EndPoint endPoint, EndPointSettings settings, ConnectionPipes[] pipes, TransportLog log, ListenerTls? tls)
    {
        var listener = new TransportListener(group, settings, pipes, log, tls);
        ListenSettings listen = group.ListenDefaults with { Backlog = settings.Options.Backlog, NoDelay = settings.Options.NoDelay };
        Func<Connection, IReadOnlyList<ConnectionFilter>>? filters = settings.Terminator is { } terminator ? terminator.FiltersOf : null;
        using BoundAddress bound = endPoint is FileHandleEndPoint handle
            ? BoundAddress.Acquire(checked((int)handle.FileHandle), listen)
            : BoundAddress.Bind(endPoint, group.Reactors.Count, listen);
        listener._listener = await group.ListenAsync(bound, listener.ServeAsync, filters, refusal: null);
        return listener;
    }

    public async ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default)
    {
        while (await _accepted.Reader.WaitToReadAsync(cancellationToken))
        {
            if (_accepted.Reader.TryRead(out TransportConnection? connection))
            {
                return connection;
            }
        }

        return null;
    }

    /// <summary>
    /// Stops accepting. Connections that the kernel or a reactor accepted before are still returned, except those of a blocked reactor,
    /// which are refused.
    /// </summary>
    /// <param name="cancellationToken">
    /// Ignored, as in Kestrel's own transport: Kestrel passes a canceled token when it gives up (after a failed start, for example), and an
    /// exception here would replace the cause and stop the remaining cleanup.
    /// </param>
    public ValueTask UnbindAsync(CancellationToken cancellationToken = default) => new(_unbinding ??= StopAcceptingAsync());

    public async ValueTask DisposeAsync()
    {
        await UnbindAsync(CancellationToken.None);
        while (_accepted.Reader.TryRead(out TransportConnection? connection))
        {
            connection.Refuse();
            await connection.DisposeAsync();
        }
    }

    private async Task StopAcceptingAsync()
    {
        try
        {
            if (!await TransportReactors.EndsInTimeAsync(StopReactorsAsync(), StopTimeout))
            {
                _log.UnbindingLeft(EndPoint, StopTimeout);
            }
        }
        finally
        {
            _accepted.Writer.Complete();
        }
    }

    private async Task StopReactorsAsync()
    {
        await _listener.StopAsync();
        // Connections that one reactor transfers to another travel as posts: after these no more arrive.
        await Task.WhenAll(_group.Reactors.Select(static reactor => reactor.PostsDoneAsync()));
        _tls?.Dispose();
    }

    /// <summary>The engine's connection handler.</summary>
    private Task ServeAsync(Connection connection)
    {
        var accepted = new TransportConnection(connection, _pipes[connection.Reactor.Index], _settings, _log);
        Task serving = accepted.Serve();
        if (!_accepted.Writer.TryWrite(accepted))
        {
            accepted.Refuse();
        }

        return serving;
    }
}
