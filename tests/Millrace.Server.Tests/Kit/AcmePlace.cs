using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Millrace.Acme.Tests.Kit;

namespace Millrace.Server.Tests.Kit;

/// <summary>An authority and a folder, for servers that obtain certificates one after the other.</summary>
internal sealed class AcmePlace(Pebble authority) : IAsyncDisposable
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    public Pebble Authority => authority;

    public TempFolder Folder { get; } = new();

    public string State => Folder.PathOf("acme");

    public static async Task<AcmePlace> MakeAsync(PebbleOptions? options = null)
    {
        Assert.SkipUnless(Pebble.IsInstalled, "Needs pebble.");
        return new AcmePlace(await Pebble.StartAsync(options));
    }

    /// <summary>The flags of a server that answers both kinds of validations.</summary>
    public string[] Flags(params string[] more) =>
    [
        Places.SampleSite, "--listen", $"127.0.0.1:{authority.HttpPort}", "--https", $"127.0.0.1:{authority.TlsPort}", "--https-redirect",
        .. FlagsOfAuthority, .. more,
    ];

    public string[] FlagsOfAuthority =>
    [
        "--acme", "owner@site.test", "--acme-server", authority.Directory.AbsoluteUri, "--acme-ca-roots", authority.RootsFile,
        "--acme-dir", State,
    ];

    /// <summary>A server with its home in the folder.</summary>
    public Task<ServerProcess> StartAsync(params string[] flags) => ServerProcess.StartWithAsync([("HOME", Folder.Root)], flags);

    /// <summary>Waits until it has obtained so many certificates, and serves them.</summary>
    public static async Task ObtainedAsync(ServerProcess server, int certificates = 1)
    {
        await server.AwaitErrorAsync("obtained in ", certificates);
        using var deadline = new CancellationTokenSource(Deadline);
        while (server.Said() is var said && said.LastIndexOf("Certificates reloaded", StringComparison.Ordinal)
            < said.LastIndexOf("obtained in ", StringComparison.Ordinal))
        {
            // Sleeps: the server is another process, which has no clock of ours.
            await Task.Delay(TimeSpan.FromMilliseconds(5), deadline.Token);
        }
    }

    /// <summary>The certificate that a client of this host gets.</summary>
    public async Task<X509Certificate2> CertificateAsync(string host)
    {
        await using SslStream tls = await ConnectAsync(host);
        return X509CertificateLoader.LoadCertificate(tls.RemoteCertificate!.GetRawCertData());
    }

    /// <summary>The status line for a request of one host on a connection to another.</summary>
    public async Task<string?> StatusLineAsync(string serverName, string host)
    {
        await using SslStream tls = await ConnectAsync(serverName);
        await tls.WriteAsync(Encoding.ASCII.GetBytes($"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"));
        using var reader = new StreamReader(tls);
        return await reader.ReadLineAsync().WaitAsync(Deadline);
    }

    private async Task<SslStream> ConnectAsync(string host)
    {
        using var deadline = new CancellationTokenSource(Deadline);
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(IPAddress.Loopback, authority.TlsPort, deadline.Token);
        var tls = new SslStream(new NetworkStream(socket, ownsSocket: true), leaveInnerStreamOpen: false, OwnCertificate.IsAnything);
        await tls.AuthenticateAsClientAsync(new SslClientAuthenticationOptions { TargetHost = host }, deadline.Token);
        return tls;
    }

    /// <summary>A client of any host, which is this server, and which trusts the authority alone.</summary>
    public async Task<HttpClient> TrustingAsync()
    {
        X509Certificate2 root = await authority.RootAsync();
        return new HttpClient(new SocketsHttpHandler
        {
            UseProxy = false,
            AllowAutoRedirect = false,
            ConnectCallback = async (_, cancel) =>
            {
                var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
                await socket.ConnectAsync(IPAddress.Loopback, authority.TlsPort, cancel);
                return new NetworkStream(socket, ownsSocket: true);
            },
            SslOptions =
            {
                CertificateChainPolicy = new X509ChainPolicy
                {
                    TrustMode = X509ChainTrustMode.CustomRootTrust,
                    RevocationMode = X509RevocationMode.NoCheck,
                    CustomTrustStore = { root },
                },
            },
        });
    }

    /// <summary>How often the authority has said this.</summary>
    public int Count(string words) => authority.Log.Split(words).Length - 1;

    public async ValueTask DisposeAsync()
    {
        await authority.DisposeAsync();
        Folder.Dispose();
    }
}
