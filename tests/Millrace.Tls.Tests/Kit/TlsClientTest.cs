using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using Millrace.Engine;
using Millrace.Engine.Connecting;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.Certificates;

namespace Millrace.Tls.Tests.Kit;

/// <summary>Clients of TLS on a reactor, and servers for them. At the end no SSL and no context of OpenSSL's is left.</summary>
public abstract class TlsClientTest : TlsTest
{
    private readonly List<TlsClient> _clients = [];

    internal TlsClient Tls => _clients[^1];

    private protected override void EndClients()
    {
        foreach (TlsClient client in _clients)
        {
            client.Dispose();
        }
    }

    private protected override void CheckClients()
    {
        Assert.All(_clients, static client => Assert.Equal(0, client.Counters.Sessions));
        Assert.Equal(0, ClientContext.Live);
    }

    /// <summary>One that trusts the certificates of a file.</summary>
    internal TlsClient Trust(string? authorities)
    {
        _clients.Add(TlsClient.Create(authorities, Log));
        return Tls;
    }

    /// <summary>A server of .NET's on a free port, which serves one connection after another.</summary>
    internal IPEndPoint ServeNet(
        CertificateFiles files, Func<SslStream, Task> serve, Action<SslServerAuthenticationOptions>? configure = null,
        Func<Socket, NetworkStream>? stream = null)
    {
        Socket listener = Listen();
        X509Certificate2 certificate = Keep(X509Certificate2.CreateFromPemFile(files.Certificate, files.Key));
        var options = new SslServerAuthenticationOptions { ServerCertificate = certificate };
        configure?.Invoke(options);
        _ = AcceptAsync();
        return (IPEndPoint)listener.LocalEndPoint!;

        async Task AcceptAsync()
        {
            while (true)
            {
                using Socket socket = await listener.AcceptAsync();
                await using var tls = new SslStream(stream?.Invoke(socket) ?? new NetworkStream(socket));
                try
                {
                    await tls.AuthenticateAsServerAsync(options);
                    await serve(tls);
                }
                catch (Exception failure) when (failure is IOException or AuthenticationException or SocketException)
                {
                    // The client has refused it, or is gone.
                }
            }
        }
    }

    /// <summary>A server that knows nothing of TLS.</summary>
    internal IPEndPoint ServePlain(Func<Client, Task> serve)
    {
        Socket listener = Listen();
        _ = AcceptAsync();
        return (IPEndPoint)listener.LocalEndPoint!;

        async Task AcceptAsync()
        {
            while (true)
            {
                using var client = new Client(await listener.AcceptAsync());
                await serve(client);
            }
        }
    }

    /// <summary>Connects by TLS from the reactor, which is started if there is none.</summary>
    internal async Task ConnectTlsAsync(IPEndPoint server, string host, ConnectionHandler handler, TimeSpan? timeout = null)
    {
        ConnectSettings settings = ConnectSettings.Of(new Limits()) with
        {
            Timeout = timeout ?? Patience,
            Filters = Tls.FiltersFor(host, server.Port),
        };
        await Reactor.RunAsync(() => Reactor.ConnectAsync(server, handler, settings, CancellationToken.None));
    }

    /// <summary>Sends, and receives so many bytes.</summary>
    internal async Task<byte[]> AskTlsAsync(IPEndPoint server, string host, byte[] request, int count)
    {
        var response = new TaskCompletionSource<byte[]>(TaskCreationOptions.RunContinuationsAsynchronously);
        await ConnectTlsAsync(server, host, async connection =>
        {
            try
            {
                using var received = new MemoryStream();
                connection.Write(request);
                connection.Flush();
                while (received.Length < count && await connection.ReadAsync() is var outcome)
                {
                    received.Write(connection.Input);
                    connection.Consume(connection.Input.Length);
                    if (outcome != ReadOutcome.Data)
                    {
                        response.SetException(connection.Filters.Failure ?? new IOException($"{outcome}"));
                        return;
                    }
                }

                response.SetResult(received.ToArray());
            }
            catch (Exception failure)
            {
                response.TrySetException(failure);
                throw;
            }
        });
        return await response.Task.Within();
    }

    /// <summary>The reason why TLS with a server fails.</summary>
    internal async Task<string> FailTlsAsync(IPEndPoint server, string host = "localhost")
    {
        AuthenticationException failure = await Assert.ThrowsAsync<AuthenticationException>(() => ConnectTlsAsync(server, host, Never));
        await Waiting.UntilAsync(() => Reactor.AskAsync(() => Reactor.Connections.Count).Result == 0, "the connection has ended");
        return failure.Message;
    }

    internal static Task Never(Connection connection) => throw new InvalidOperationException("The handler was not to run.");

    internal static IPEndPoint EndPointOf(Listener listener) => (IPEndPoint)listener.EndPoint;

    private Socket Listen()
    {
        Socket listener = Keep(new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp));
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        return listener;
    }
}
