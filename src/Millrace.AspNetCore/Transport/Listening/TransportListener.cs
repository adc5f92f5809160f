using System.Net;
using System.Threading.Channels;
using Microsoft.AspNetCore.Connections;
using Millrace.AspNetCore.Https;
using Millrace.AspNetCore.Transport.Connections;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine;
using Millrace.Engine.Listening;
using Millrace.Engine.Stages;

namespace Millrace.AspNetCore.Transport.Listening;

/// <summary>
/// One address of Kestrel's, served by all reactors. What they accept waits in a queue for Kestrel's accept loop; accepting never fails,
/// it only ends.
/// </summary>
internal sealed class TransportListener : IConnectionListener
{
    /// <summary>
    /// A reactor that has not stopped by then is blocked by a handler. Kestrel tells connections to end, and aborts those that do not,
    /// only behind this.
    /// </summary>
    private static readonly TimeSpan StopPatience = TimeSpan.FromSeconds(3);

    private readonly ReactorGroup _group;
    private readonly EndPointSettings _settings;
    private readonly TransportLog _log;
    private readonly ConnectionPipes[] _pipes;
    private readonly ListenersTls? _tls;
    private readonly Channel<TransportConnection> _accepted =
        Channel.CreateUnbounded<TransportConnection>(new UnboundedChannelOptions { SingleReader = true });

    /// <summary>Set when the address is bound; connections may come a moment earlier.</summary>
    private Listener _listener = null!;
    private Task? _unbinding;

    private TransportListener(
        ReactorGroup group, EndPointSettings settings, ConnectionPipes[] pipes, TransportLog log, ListenersTls? tls)
    {
        _group = group;
        _settings = settings;
        _pipes = pipes;
        _log = log;
        _tls = tls;
    }

    public EndPoint EndPoint => _listener.EndPoint;

    /// <summary>From here on <paramref name="tls"/> is the listener's, unless it fails.</summary>
    /// <exception cref="EngineException">The address cannot be had; the message says why.</exception>
    public static async Task<TransportListener> BindAsync(
        ReactorGroup group, EndPoint endPoint, EndPointSettings settings, ConnectionPipes[] pipes, TransportLog log, ListenersTls? tls)
    {
        var listener = new TransportListener(group, settings, pipes, log, tls);
        ListenSettings listen = group.ListenDefaults with { Backlog = settings.Backlog, NoDelay = settings.NoDelay };
        Func<Connection, IReadOnlyList<ConnectionStage>>? stages = settings.Terminator is { } terminator ? terminator.StagesOf : null;
        listener._listener = endPoint is FileHandleEndPoint handle
            ? await group.AdoptAsync(checked((int)handle.FileHandle), listener.ServeAsync, stages, listen)
            : await group.ListenAsync(endPoint, listener.ServeAsync, stages, refusal: null, listen);
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
    /// Stops accepting. What the kernel or a reactor had accepted by then is still handed out, but for a reactor that is blocked, whose
    /// connections are refused.
    /// </summary>
    /// <param name="cancellationToken">
    /// Not looked at, as in Kestrel's own transport: Kestrel calls it with a token that is cancelled where it gives up, a start that has
    /// failed say, and whatever is thrown here comes in the place of the cause, and in the way of the rest that is to be ended.
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
            if (!await Patiently.IsDoneAsync(StopReactorsAsync(), StopPatience))
            {
                _log.UnbindingLeft(EndPoint, StopPatience);
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
        // Those that one reactor deals to others are on their way by a post: behind it nothing comes any more.
        await Task.WhenAll(_group.Reactors.Select(HasDealtWithPostsAsync));
        _tls?.Dispose();
    }

    private static Task HasDealtWithPostsAsync(Reactor reactor)
    {
        var reached = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        reactor.PostContinuation(static reached => ((TaskCompletionSource)reached!).SetResult(), reached);
        return reached.Task;
    }

    /// <summary>The engine's handler.</summary>
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
