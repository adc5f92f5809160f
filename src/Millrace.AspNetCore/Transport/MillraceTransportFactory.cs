using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Millrace.AspNetCore.Https;
using Millrace.AspNetCore.Safety;
using Millrace.AspNetCore.Transport.Listening;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine;
using Millrace.Engine.Backends;
using Millrace.Tls.Handshakes;

namespace Millrace.AspNetCore.Transport;

/// <summary>
/// The transport's listener factory. Kestrel asks it for each endpoint before transports that were registered earlier. Any thread.
/// </summary>
internal sealed class MillraceTransportFactory
    : IConnectionListenerFactory, IConnectionListenerFactorySelector, IAsyncDisposable, IDisposable
{
    private readonly MillraceTransportOptions _options;
    private readonly ILoggerFactory _logs;
    private readonly EndPointBuilds? _builds;
    private readonly BlockingPolicies? _policies;
    private readonly HashSet<string> _reportedCauses = [];

    public MillraceTransportFactory(
        IOptions<MillraceTransportOptions> options,
        ILoggerFactory logs,
        TransportLog log,
        IMemoryPoolFactory<byte>? pools = null,
        EndPointBuilds? builds = null,
        BlockingPolicies? policies = null,
        IOptions<SocketTransportOptions>? sockets = null)
    {
        _policies = policies;
        _options = options.Value;
        _logs = logs;
        _builds = builds;
        Log = log;
        Reactors = new TransportReactors(_options, pools, logs, Log, sockets?.Value);
    }

    internal TransportReactors Reactors { get; }

    internal TransportLog Log { get; }

    public bool CanBind(EndPoint endpoint)
    {
        if (RefusalOf(endpoint) is not { } refusal)
        {
            return true;
        }

        lock (_reportedCauses)
        {
            if (_reportedCauses.Add(refusal.Cause))
            {
                Log.EndPointLeft(endpoint, refusal.Cause, refusal.Remedy);
            }
        }

        return false;
    }

    public async ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        EndPointBuild? build = _builds?.Take(endpoint);
        ConnectionQuota? quota = _builds?.Quota;
        ListenerTls? tls = null;
        try
        {
            _options.ValidateOwn();
            MillraceEndPointOptions options = _options.For(endpoint, build?.Configure);
            tls = build?.Https?.Open(_logs, Log, quota);
            var settings = new EndPointSettings(options, tls?.Terminator, quota, _policies);
            ReactorGroup group = await Reactors.StartedAsync(cancellationToken);
            ConnectionPipes[] pipes = Reactors.PipesFor(settings);
            TransportListener listener = await TransportListener.BindAsync(group, endpoint, settings, pipes, Log, tls);
            tls = null;
            return listener;
        }
        catch (EngineException error) when (error.IsAddressInUse)
        {
            throw new AddressInUseException(error.Message, error);
        }
        catch (EngineException error) when (error.ErrorNumber != 0)
        {
            // The sockets transport throws the same, so that callers need not distinguish transports.
            throw new SocketException((int)SocketErrors.Of(error.ErrorNumber), error.Message);
        }
        finally
        {
            tls?.Dispose();
        }
    }

    public ValueTask DisposeAsync() => Reactors.DisposeAsync();

    /// <summary>
    /// For containers that are disposed synchronously. Does not wait on a reactor's thread, which would block the reactors' end.
    /// </summary>
    public void Dispose()
    {
        Task end = Reactors.DisposeAsync().AsTask();
        if (Reactor.Current is null)
        {
            end.GetAwaiter().GetResult();
        }
    }

    private (string Cause, string Remedy)? RefusalOf(EndPoint endPoint)
    {
        if (!OperatingSystem.IsLinux())
        {
            return ("Millrace runs on Linux only", "Run the application on Linux to use it");
        }

        if (endPoint is not (IPEndPoint or UnixDomainSocketEndPoint or FileHandleEndPoint))
        {
            return ($"Millrace does not serve endpoints of type {endPoint.GetType().Name}", "Use TCP or a unix socket");
        }

        _options.ValidateOwn();
        bool mustBeUring = _options.ReactorGroup is null && _options.Backend == BackendKind.IoUring;
        return mustBeUring && BackendProbe.Current.Refusal is { } refusal
            ? (refusal.Cause, $"To enable io_uring, {refusal.Remedy}; with Backend = Auto, Millrace falls back to epoll")
            : null;
    }
}
