using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
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
/// Connects on the server's reactors: on the caller's own if it is on one, else on each in turn. Any thread; a caller on a reactor resumes
/// there, others resume on the thread pool.
/// </summary>
internal sealed class MillraceConnectionFactory(
    MillraceTransportFactory transport, IOptions<MillraceTransportOptions> options, ILoggerFactory logs) : IConnectionFactory, IDisposable
{
    private readonly Lock _gate = new();
    private readonly SocketConnectionContextFactory _sockets =
        new(new SocketConnectionFactoryOptions(), logs.CreateLogger(TransportLog.Category));

    private EndPointSettings? _settings;
    private ConnectionPipes[]? _pipes;
    private int _taken = -1;

    public static IConnectionFactory Create(IServiceProvider services) => new MillraceConnectionFactory(
        services.GetServices<IConnectionListenerFactory>().OfType<MillraceTransportFactory>().First(),
        services.GetRequiredService<IOptions<MillraceTransportOptions>>(),
        services.GetRequiredService<ILoggerFactory>());

    /// <summary>Connects to an IP address, a unix socket, or a host name: to the first of its addresses that accepts.</summary>
    /// <exception cref="SocketException">The connection failed; the message names cause and remedy.</exception>
    /// <exception cref="OperationCanceledException">The operation was canceled, or the reactors stop.</exception>
    /// <exception cref="ObjectDisposedException">The reactors have stopped.</exception>
    /// <exception cref="NotSupportedException">The endpoint's type is not supported.</exception>
    public async ValueTask<ConnectionContext> ConnectAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(endpoint);
        Reactor? caller = Reactor.Current;
        if (endpoint is not DnsEndPoint name)
        {
            return await ConnectAsync(endpoint, caller, cancellationToken);
        }

        // Resolved on the thread pool, as the system's resolver blocks.
        IPAddress[] addresses = await Dns.GetHostAddressesAsync(name.Host, name.AddressFamily, cancellationToken);
        for (int i = 0; i < addresses.Length; i++)
        {
            try
            {
                return await ConnectAsync(new IPEndPoint(addresses[i], name.Port), caller, cancellationToken);
            }
            catch (SocketException) when (i + 1 < addresses.Length)
            {
                // The next address may accept; the last one's failure is thrown.
            }
        }

        throw new SocketException((int)SocketError.HostNotFound, $"Cannot connect to {name}: the name has no address.");
    }

    public void Dispose() => _sockets.Dispose();

    private async ValueTask<ConnectionContext> ConnectAsync(EndPoint endPoint, Reactor? caller, CancellationToken cancellation)
    {
        if (!transport.CanBind(endPoint))
        {
            return await ConnectSocketAsync(endPoint, cancellation);
        }

        ReactorGroup group = await transport.Reactors.StartedAsync(cancellation);
        bool isCallersOwn = caller is not null && group.Reactors.Contains(caller);
        Reactor reactor = isCallersOwn ? caller! : NextOf(group);
        (EndPointSettings settings, ConnectionPipes pipes) = PipesOf(reactor);
        ConnectSettings connect = ConnectSettings.Of(reactor.Limits) with { NoDelay = settings.Options.NoDelay };
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
                // A caller from another thread must not continue on the reactor.
                await Task.Yield();
            }
        }

        return connected ?? throw new InvalidOperationException($"The connection to {endPoint} was not passed to its handler.");

        Task Serve(Connection connection)
        {
            connected = new TransportConnection(connection, pipes, settings, transport.Log);
            return connected.Serve();
        }
    }

    /// <summary>Connects with the sockets transport, where no reactors are available.</summary>
    internal async ValueTask<ConnectionContext> ConnectSocketAsync(EndPoint endPoint, CancellationToken cancellation)
    {
        bool isUnix = endPoint is UnixDomainSocketEndPoint;
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, isUnix ? ProtocolType.Unspecified : ProtocolType.Tcp);
        try
        {
            socket.NoDelay = !isUnix;
            await socket.ConnectAsync(endPoint, cancellation);
            return _sockets.Create(socket);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>The next reactor that has not ended; the reactors of a stopping group end one by one.</summary>
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
            if (_settings is null)
            {
                options.Value.Validate();
                _settings = new EndPointSettings(options.Value.Copy());
            }

            _pipes ??= transport.Reactors.PipesFor(_settings);
            return (_settings, _pipes[reactor.Index]);
        }
    }
}
