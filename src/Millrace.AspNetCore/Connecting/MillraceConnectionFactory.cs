using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Millrace.AspNetCore.Transport;
using Millrace.AspNetCore.Transport.Connections;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine;
using Millrace.Engine.Connecting;

namespace Millrace.AspNetCore.Connecting;

/// <summary>
/// Connects on the server's reactors: on the one whose thread the caller is on, and for callers elsewhere on each in turn. Any thread; a
/// caller on a reactor stays there, others go on on the thread pool.
/// </summary>
internal sealed class MillraceConnectionFactory(
    MillraceTransportFactory transport, IOptions<MillraceTransportOptions> options, ILoggerFactory logs) : IConnectionFactory, IDisposable
{
    private readonly Lock _gate = new();
    private readonly SocketConnections _sockets = new(logs.CreateLogger(TransportLog.Category));
    private EndPointSettings? _settings;
    private ConnectionPipes[]? _pipes;
    private int _taken = -1;

    public static IConnectionFactory Create(IServiceProvider services) => new MillraceConnectionFactory(
        services.GetServices<IConnectionListenerFactory>().OfType<MillraceTransportFactory>().First(),
        services.GetRequiredService<IOptions<MillraceTransportOptions>>(),
        services.GetRequiredService<ILoggerFactory>());

    /// <summary>Connects to an IP address, a unix socket, or a name: to the first of its addresses that answers.</summary>
    /// <exception cref="SocketException">No connection is to be had; the message names cause and remedy.</exception>
    /// <exception cref="OperationCanceledException">It was cancelled, or the reactors stop.</exception>
    /// <exception cref="ObjectDisposedException">The reactors have stopped.</exception>
    /// <exception cref="NotSupportedException">It is no address that can be connected to.</exception>
    public async ValueTask<ConnectionContext> ConnectAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(endpoint);
        Reactor? caller = Reactor.Current;
        if (endpoint is not DnsEndPoint name)
        {
            return await ConnectAsync(endpoint, caller, cancellationToken);
        }

        // Looked up by threads of the pool, as the system's resolver waits.
        IPAddress[] addresses = await Dns.GetHostAddressesAsync(name.Host, name.AddressFamily, cancellationToken);
        for (int i = 0; i < addresses.Length; i++)
        {
            try
            {
                return await ConnectAsync(new IPEndPoint(addresses[i], name.Port), caller, cancellationToken);
            }
            catch (SocketException) when (i + 1 < addresses.Length)
            {
                // The next one may answer; the last one's refusal is told.
            }
        }

        throw new SocketException((int)SocketError.HostNotFound, $"{name} cannot be connected to: the name has no address.");
    }

    public void Dispose() => _sockets.Dispose();

    private async ValueTask<ConnectionContext> ConnectAsync(EndPoint endPoint, Reactor? caller, CancellationToken cancellation)
    {
        if (!transport.CanBind(endPoint))
        {
            return await _sockets.ConnectAsync(endPoint, cancellation);
        }

        ReactorGroup group = await transport.Reactors.StartedAsync(cancellation);
        bool isCallersOwn = caller is not null && group.Reactors.Contains(caller);
        Reactor reactor = isCallersOwn ? caller! : NextOf(group);
        (EndPointSettings settings, ConnectionPipes pipes) = PipesOf(reactor);
        ConnectSettings connect = ConnectSettings.Of(reactor.Limits) with { NoDelay = settings.NoDelay };
        TransportConnection? connected = null;
        await reactor.SwitchTo();
        try
        {
            await reactor.ConnectAsync(endPoint, Serve, connect, cancellation);
        }
        finally
        {
            if (!isCallersOwn)
            {
                // What a caller from elsewhere does next is none of the reactor's work.
                await Task.Yield();
            }
        }

        return connected ?? throw new InvalidOperationException($"The connection to {endPoint} could not be taken over.");

        Task Serve(Connection connection)
        {
            connected = new TransportConnection(connection, pipes, settings, transport.Log);
            return connected.Serve();
        }
    }

    /// <summary>The next one that has not ended; those of a group that stops end one by one.</summary>
    private Reactor NextOf(ReactorGroup group)
    {
        for (int i = 0; i < group.Reactors.Count; i++)
        {
            Reactor next = group.Reactors[(int)((uint)Interlocked.Increment(ref _taken) % (uint)group.Reactors.Count)];
            if (!next.HasEnded)
            {
                return next;
            }
        }

        return group.Reactors[0];
    }

    private (EndPointSettings Settings, ConnectionPipes Pipes) PipesOf(Reactor reactor)
    {
        lock (_gate)
        {
            _settings ??= options.Value.ToSettings();
            _pipes ??= transport.Reactors.PipesFor(_settings);
            return (_settings, _pipes[reactor.Index]);
        }
    }
}
