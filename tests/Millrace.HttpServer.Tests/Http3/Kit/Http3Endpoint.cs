using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Quic.Connections;
using Millrace.QuicTransport;
using Millrace.Tests.Shared;
using Millrace.Tls;
using Millrace.Tls.Quic;

namespace Millrace.HttpServer.Tests.Http3.Kit;

/// <summary>A site's address for HTTP/3, with a certificate of its own, and clients that trust it. The site ends it.</summary>
internal sealed class Http3Endpoint : IAsyncDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("millrace-h3-");
    private readonly QuicTokenKeys _keys = QuicTokenKeys.Create();
    private readonly List<Http3TestClient> _clients = [];
    private readonly string _certificateFile;
    private TlsTerminator _tls = null!;

    private Http3Endpoint() => _certificateFile = Path.Combine(_folder.FullName, "server.crt");

    public QuicListener Listener { get; private set; } = null!;

    public static async Task<Http3Endpoint> ListenAsync(
        ReactorGroup group, StaticSiteServer sites, Func<string, bool>? isCovered, QuicSettings settings, ILoggerFactory log)
    {
        var endpoint = new Http3Endpoint();
        endpoint._tls = TlsTerminator.Create(
            new TlsOptions { Certificates = [endpoint.MakeCertificate()], ApplicationProtocols = ["h3"], ServesQuic = true }, log);
        endpoint.Listener = await QuicListener.ListenAsync(
            group,
            new IPEndPoint(IPAddress.Loopback, 0),
            new QuicListenerOptions
            {
                Settings = settings,
                CreateCryptography = _ => new OpenSslQuicCryptography(endpoint._keys),
                CreateHandshake = _ => endpoint._tls.AcceptQuic(),
                CreateHandler = connection => sites.CreateHttp3Handler(
                    connection, isCovered is null ? null : host => isCovered(Encoding.ASCII.GetString(host))),
            },
            log.CreateLogger("quic"));
        return endpoint;
    }

    /// <summary>A connection of a new client, on which both sides may send.</summary>
    public Task<Http3TestConnection> ConnectAsync(Http3TestOptions? options = null, QuicSettings? settings = null)
    {
        var client = new Http3TestClient(_certificateFile, settings);
        _clients.Add(client);
        return client.ConnectAsync(Listener.LocalEndPoint.Port, options);
    }

    public void DisposeClients()
    {
        _clients.ForEach(static client => client.Dispose());
        _clients.Clear();
    }

    public async ValueTask DisposeAsync()
    {
        DisposeClients();
        await Listener.DisposeAsync();
        _tls.Dispose();
        _keys.Dispose();
        _folder.Delete(recursive: true);
    }

    private CertificateFiles MakeCertificate()
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=localhost", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName("localhost");
        request.CertificateExtensions.Add(names.Build());
        using X509Certificate2 certificate = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(30));
        string keyFile = Path.Combine(_folder.FullName, "server.key");
        File.WriteAllText(_certificateFile, certificate.ExportCertificatePem());
        File.WriteAllText(keyFile, key.ExportPkcs8PrivateKeyPem());
        return new CertificateFiles(_certificateFile, keyFile);
    }
}
