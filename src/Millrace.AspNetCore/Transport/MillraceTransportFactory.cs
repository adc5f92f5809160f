using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Millrace.AspNetCore.Https;
using Millrace.AspNetCore.Transport.Listening;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine;
using Millrace.Engine.Backends;
using Millrace.Interop;

namespace Millrace.AspNetCore.Transport;

/// <summary>
/// What Kestrel asks, for each of its addresses, before the transports that were registered earlier. Any thread.
/// </summary>
internal sealed class MillraceTransportFactory
    : IConnectionListenerFactory, IConnectionListenerFactorySelector, IAsyncDisposable, IDisposable
{
    private readonly MillraceTransportOptions _options;
    private readonly HttpsEndPoints? _https;
    private readonly HashSet<string> _toldCauses = [];

    public MillraceTransportFactory(
        IOptions<MillraceTransportOptions> options,
        ILoggerFactory logs,
        IMemoryPoolFactory<byte>? pools = null,
        HttpsEndPoints? https = null)
    {
        _options = options.Value;
        _https = https;
        Log = new TransportLog(logs.CreateLogger(TransportLog.Category));
        Reactors = new TransportReactors(_options, pools, logs, Log);
    }

    internal TransportReactors Reactors { get; }

    internal TransportLog Log { get; }

    public bool CanBind(EndPoint endpoint)
    {
        if (WhyNot(endpoint) is not { } refusal)
        {
            return true;
        }

        lock (_toldCauses)
        {
            if (_toldCauses.Add(refusal.Cause))
            {
                Log.EndPointLeft(endpoint, refusal.Cause, refusal.Remedy);
            }
        }

        return false;
    }

    public async ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        ListenersTls? tls = _https?.Take(endpoint);
        try
        {
            EndPointSettings settings = _options.For(endpoint).ToSettings() with { Terminator = tls?.Terminator, Places = _https?.Places };
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
            // What the sockets transport throws, so that callers need not know which one serves.
            throw new SocketException((int)SocketErrorOf(error.ErrorNumber), error.Message);
        }
        finally
        {
            tls?.Dispose();
        }
    }

    public ValueTask DisposeAsync() => Reactors.DisposeAsync();

    /// <summary>For containers that are disposed synchronously. On a reactor nobody may wait for the reactors' end.</summary>
    public void Dispose()
    {
        Task end = Reactors.DisposeAsync().AsTask();
        if (Reactor.Current is null)
        {
            end.GetAwaiter().GetResult();
        }
    }

    private static SocketError SocketErrorOf(int errno) => errno switch
    {
        Errno.EACCES => SocketError.AccessDenied,
        Errno.EADDRNOTAVAIL => SocketError.AddressNotAvailable,
        Errno.EAFNOSUPPORT => SocketError.AddressFamilyNotSupported,
        _ => SocketError.SocketError,
    };

    private (string Cause, string Remedy)? WhyNot(EndPoint endPoint)
    {
        if (!OperatingSystem.IsLinux())
        {
            return ("Millrace runs on Linux only", "Run there to have it");
        }

        if (endPoint is not (IPEndPoint or UnixDomainSocketEndPoint or FileHandleEndPoint))
        {
            return ($"Millrace does not serve addresses of the kind {endPoint.GetType().Name}", "Use TCP or a unix socket to have it");
        }

        bool mustBeUring = _options.ReactorGroup is null && _options.Backend == BackendKind.IoUring;
        return mustBeUring && BackendProbe.Current.Refusal is { } refusal
            ? (refusal.Cause, $"To have io_uring, {refusal.Remedy}; with the backend Auto, Millrace serves over epoll")
            : null;
    }
}
