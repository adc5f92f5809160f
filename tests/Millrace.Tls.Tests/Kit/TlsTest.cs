using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.Certificates;

namespace Millrace.Tls.Tests.Kit;

/// <summary>Servers that speak TLS, and clients of it. At the end no SSL of OpenSSL's is left.</summary>
public abstract class TlsTest : EngineTest, IAsyncLifetime
{
    private readonly List<TlsTerminator> _terminators = [];

    internal PemFiles Pem { get; } = new();

    internal TlsTerminator Terminator => _terminators[^1];

    async ValueTask IAsyncDisposable.DisposeAsync()
    {
        EndClients();
        await DisposeAsync();
        CheckClients();
        foreach (TlsTerminator terminator in _terminators)
        {
            Assert.Equal(0, terminator.Counters.Sessions);
            terminator.Dispose();
        }

        Assert.Equal(0, ServerContext.Live);

        Pem.Dispose();
        GC.SuppressFinalize(this);
    }

    /// <summary>Called before the groups stop, and after.</summary>
    private protected virtual void EndClients()
    {
    }

    private protected virtual void CheckClients()
    {
    }

    internal TlsOptions TlsOptions(params CertificateFiles[] certificates) => new()
    {
        Certificates = certificates is [] ? [Pem.Make("server", "localhost")] : [.. certificates],
    };

    internal TlsTerminator Terminate(TlsOptions? options = null)
    {
        _terminators.Add(TlsTerminator.Create(options ?? TlsOptions(), Log));
        return Terminator;
    }

    /// <summary>A listener on a free port of the loopback, behind TLS.</summary>
    internal async Task<Listener> ServeTlsAsync(ConnectionHandler handler, TlsOptions? tls = null, EngineOptions? options = null)
    {
        TlsTerminator terminator = Terminate(tls);
        ReactorGroup group = await StartAsync(options);
        return await group.ListenTlsAsync(new IPEndPoint(IPAddress.Loopback, 0), terminator, handler).Within();
    }

    /// <summary>.NET's client, which trusts everybody here.</summary>
    internal async Task<SslStream> ConnectTlsAsync(Listener listener, SslClientAuthenticationOptions? options = null)
    {
        Client client = await ConnectAsync(listener);
        SslStream stream = Keep(new SslStream(new NetworkStream(client.Socket)));
        await stream.AuthenticateAsClientAsync(Trusting(options)).Within();
        return stream;
    }

    internal static SslClientAuthenticationOptions Trusting(SslClientAuthenticationOptions? options = null)
    {
        options ??= new SslClientAuthenticationOptions { TargetHost = "localhost" };
#pragma warning disable CA5359 // Its certificates are made for one test each.
        options.RemoteCertificateValidationCallback = static (_, _, _, _) => true;
#pragma warning restore CA5359
        return options;
    }

    /// <summary>Everything up to close_notify.</summary>
    internal static async Task<byte[]> ReceiveToEndAsync(SslStream stream)
    {
        using var all = new MemoryStream();
        await stream.CopyToAsync(all).Within();
        return all.ToArray();
    }

    internal static async Task<byte[]> ReceiveAsync(SslStream stream, int count)
    {
        byte[] bytes = new byte[count];
        await stream.ReadExactlyAsync(bytes).AsTask().Within();
        return bytes;
    }

    internal static int PortOf(Listener listener) => ((IPEndPoint)listener.EndPoint).Port;
}
