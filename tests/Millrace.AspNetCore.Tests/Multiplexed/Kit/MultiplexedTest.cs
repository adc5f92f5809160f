using System.Net;
using System.Net.Security;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Multiplexed;
using Millrace.AspNetCore.Tests.Transport.Kit;
using Millrace.AspNetCore.Transport;
using Millrace.Tests.Shared;
using Certificates = Millrace.AspNetCore.Tests.Kit.Certificates;
using ConnectionContext = Microsoft.AspNetCore.Connections.ConnectionContext;

namespace Millrace.AspNetCore.Tests.Multiplexed.Kit;

/// <summary>The transport over QUIC without Kestrel: its listener, connections and streams as Kestrel sees them, against a client of QUIC.</summary>
public abstract class MultiplexedTest : IAsyncLifetime
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("millrace-quic-");
    private readonly List<MultiplexedConnectionContext> _connections = [];
    private readonly List<IMultiplexedConnectionListener> _listeners = [];
    private MillraceTransportFactory? _transport;
    private MultiplexedTransportFactory? _factory;
    private Http3TestClient? _client;

    internal Logs Logs { get; } = new();

    internal MillraceTransportOptions Options { get; } = new() { ReactorCount = 1, Backend = AskedBackend.Kind };

    internal MillraceTransportFactory Transport => _transport ??= new MillraceTransportFactory(
        Microsoft.Extensions.Options.Options.Create(Options),
        Logs,
        new TransportLog(Logs.CreateLogger(TransportLog.Category)),
        KestrelPools.Factory);

    /// <summary>The factory, of the options as they are when it is first used.</summary>
    internal MultiplexedTransportFactory Factory =>
        _factory ??= new MultiplexedTransportFactory(
            Transport, Microsoft.Extensions.Options.Options.Create(Options), Logs, builds: null, isLast: static () => true);

    internal Http3TestClient Client
    {
        get
        {
            if (_client is null)
            {
                string authority = Path.Combine(_folder.FullName, "server.pem");
                File.WriteAllText(authority, Certificates.Server.ExportCertificatePem());
                _client = new Http3TestClient(authority);
            }

            return _client;
        }
    }

    internal static FeatureCollection TlsFeatures()
    {
        var features = new FeatureCollection();
        features.Set(new TlsConnectionCallbackOptions
        {
            ApplicationProtocols = [SslApplicationProtocol.Http3],
            OnConnection = static (_, _) => ValueTask.FromResult(new SslServerAuthenticationOptions
            {
                ServerCertificate = Certificates.Server,
            }),
        });
        return features;
    }

    public ValueTask InitializeAsync() => default;

    /// <summary>As Kestrel ends: connections, then listeners, then the container.</summary>
    public async ValueTask DisposeAsync()
    {
        foreach (MultiplexedConnectionContext connection in _connections)
        {
            await connection.DisposeAsync().AsTask().Within();
        }

        foreach (IMultiplexedConnectionListener listener in _listeners)
        {
            await listener.DisposeAsync().AsTask().Within();
        }

        if (_transport is not null)
        {
            await _transport.DisposeAsync().AsTask().Within();
        }

        _client?.Dispose();
        _folder.Delete(recursive: true);
        Assert.True(Logs.Entries.All(static entry => entry.Level <= LogLevel.Warning));
        GC.SuppressFinalize(this);
    }

    internal async Task<IMultiplexedConnectionListener> BindAsync(EndPoint? endPoint = null)
    {
        IMultiplexedConnectionListener listener =
            await Factory.BindAsync(endPoint ?? new IPEndPoint(IPAddress.Loopback, 0), TlsFeatures()).Within();
        _listeners.Add(listener);
        return listener;
    }

    internal async Task<MultiplexedConnectionContext> AcceptAsync(IMultiplexedConnectionListener listener)
    {
        MultiplexedConnectionContext? connection = await listener.AcceptAsync().Within();
        Assert.NotNull(connection);
        _connections.Add(connection);
        return connection;
    }

    internal Task<Http3TestConnection> ConnectAsync(IMultiplexedConnectionListener listener) =>
        Client.ConnectAsync(((IPEndPoint)listener.EndPoint).Port, new Http3TestOptions { OpensStreams = false });

    /// <summary>Both ends of a connection.</summary>
    internal async Task<(Http3TestConnection Peer, MultiplexedConnectionContext Connection)> PairAsync()
    {
        IMultiplexedConnectionListener listener = await BindAsync();
        Http3TestConnection peer = await ConnectAsync(listener);
        return (peer, await AcceptAsync(listener));
    }

    /// <summary>Both ends of a stream that the client has opened with these bytes.</summary>
    internal async Task<(Http3TestStream Peer, ConnectionContext Stream, MultiplexedConnectionContext Connection)> StreamsAsync(
        byte[] bytes, bool isEnd = false, bool isBidirectional = true)
    {
        (Http3TestConnection peer, MultiplexedConnectionContext connection) = await PairAsync();
        Http3TestStream stream = await peer.SendAsync(bytes, isEnd, isBidirectional);
        return (stream, (await connection.AcceptAsync().Within())!, connection);
    }
}
