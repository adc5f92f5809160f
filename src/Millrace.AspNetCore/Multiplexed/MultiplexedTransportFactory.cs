using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Millrace.AspNetCore.Multiplexed.Connections;
using Millrace.AspNetCore.Multiplexed.Streams;
using Millrace.AspNetCore.Multiplexed.Tls;
using Millrace.AspNetCore.Transport;
using Millrace.Engine;
using Millrace.QuicTransport;

namespace Millrace.AspNetCore.Multiplexed;

/// <summary>
/// The listener factory for HTTP/3, on the reactors of <see cref="MillraceTransportFactory"/>. Kestrel asks it for each endpoint with
/// HTTP/3 before transports that were registered earlier. Any thread.
/// </summary>
internal sealed class MultiplexedTransportFactory(
    MillraceTransportFactory transport,
    IOptions<MillraceTransportOptions> options,
    ILoggerFactory logs,
    EndPointBuilds? builds,
    Func<bool> isLast) : IMultiplexedConnectionListenerFactory, IConnectionListenerFactorySelector
{
    private readonly MultiplexedLog _log = new(logs.CreateLogger(MultiplexedLog.Category));

    public static MultiplexedTransportFactory Create(IServiceProvider services) => new(
        services.GetServices<IConnectionListenerFactory>().OfType<MillraceTransportFactory>().First(),
        services.GetRequiredService<IOptions<MillraceTransportOptions>>(),
        services.GetRequiredService<ILoggerFactory>(),
        services.GetService<EndPointBuilds>(),
        // Asked later: these are being created now.
        () => services.GetServices<IMultiplexedConnectionListenerFactory>().Count() == 1);

    /// <summary>
    /// Whether Millrace serves HTTP/3 there. Kestrel does not start if no transport does, so that without another one this takes all
    /// endpoints, and serves the others' HTTP/3 not at all.
    /// </summary>
    public bool CanBind(EndPoint endpoint) => IsServed(endpoint) || isLast();

    public async ValueTask<IMultiplexedConnectionListener> BindAsync(
        EndPoint endpoint, IFeatureCollection? features = null, CancellationToken cancellationToken = default)
    {
        EndPointBuild? build = builds?.Take(endpoint);
        if (endpoint is not IPEndPoint address || !IsServed(endpoint))
        {
            _log.EndPointLeft(
                endpoint, "Millrace serves it on IP addresses only, where it serves HTTP/1.1 too", "Use other protocols there");
            return new IdleListener(endpoint);
        }

        try
        {
            options.Value.ValidateOwn();
            MillraceEndPointOptions own = options.Value.For(endpoint, build?.Configure);
            ReactorGroup group = await transport.Reactors.StartedAsync(cancellationToken);
            StreamPipeOptions[] pipes =
                [.. group.Reactors.Select(reactor => new StreamPipeOptions(reactor, transport.Reactors.Pools[reactor.Index], own))];
            return await MultiplexedListener.BindAsync(
                group, address, pipes, _log, logs.CreateLogger(MultiplexedLog.Category), create => OpenTls(build, features, create));
        }
        catch (EngineException error) when (error.IsAddressInUse)
        {
            throw new AddressInUseException(error.Message, error);
        }
        catch (EngineException error) when (error.ErrorNumber != 0)
        {
            throw new SocketException((int)SocketErrors.Of(error.ErrorNumber), error.Message);
        }
    }

    private bool IsServed(EndPoint endPoint) => endPoint is IPEndPoint && transport.CanBind(endPoint);

    /// <summary>Millrace's own TLS where the endpoint asks for it and it is possible, else what Kestrel gives.</summary>
    private IMultiplexedTls OpenTls(
        EndPointBuild? build, IFeatureCollection? features, Func<QuicServerConnection, MultiplexedConnection> create)
    {
        if (build?.Https?.OpenMultiplexed(logs, transport.Log) is { } own)
        {
            return own;
        }

        return features?.Get<TlsConnectionCallbackOptions>() is { ApplicationProtocols.Count: > 0 } callback
            ? new CallbackTls(callback, create, logs, _log)
            : throw new InvalidOperationException("HTTP/3 needs HTTPS: call UseHttps or UseMillraceHttps on the endpoint.");
    }
}
