using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Server.Tests.Http3.Kit;

/// <summary>
/// The published program with HTTP/3, a folder that it serves, and a certificate for localhost of an authority of its own. Its access log
/// says in which version each request came.
/// </summary>
internal sealed class Http3Site : IAsyncDisposable
{
    private readonly TempFolder _keys = new();

    private Http3Site()
    {
    }

    public static TimeSpan Patience { get; } = TimeSpan.FromSeconds(60);

    /// <summary>What is served.</summary>
    public TempFolder Folder { get; } = new();

    public ServerProcess Server { get; private set; } = null!;

    public int Port => Server.Url.Port;

    /// <summary>By the name in its certificate.</summary>
    public Uri Url => new($"https://localhost:{Port}/");

    /// <summary>The file of the certificate to trust.</summary>
    public string Authority => _keys.PathOf("authority.pem");

    /// <summary>What Chromium knows the server's key by: the hash of its SubjectPublicKeyInfo.</summary>
    public string KeyHash { get; private set; } = "";

    public string AccessLog => _keys.PathOf("access.log");

    /// <param name="fill">Makes the files that are served.</param>
    /// <param name="flags">More flags of the server.</param>
    public static async Task<Http3Site> StartAsync(Action<TempFolder> fill, params string[] flags)
    {
        var site = new Http3Site();
        try
        {
            fill(site.Folder);
            site.MakeCertificate();
            site.Server = await ServerProcess.StartAsync(
            [
                site.Folder.Root, "--https", "127.0.0.1:0", "--http3", "--cert", site._keys.PathOf("leaf.crt"),
                "--key", site._keys.PathOf("leaf.key"), "--access-log", site.AccessLog, .. flags,
            ]);
            return site;
        }
        catch
        {
            await site.DisposeAsync();
            throw;
        }
    }

    /// <summary>A client that trusts it.</summary>
    public Http3TestClient CreateClient() => new(Authority);

    /// <summary>The folder for the client's own things.</summary>
    public string PathOf(string file) => _keys.PathOf(file);

    /// <summary>Waits until the access log has so many lines with these words, and returns all of it.</summary>
    public async Task<string> AwaitLogAsync(string words, int times = 1)
    {
        using var deadline = new CancellationTokenSource(Patience);
        while (true)
        {
            string log = File.Exists(AccessLog) ? await File.ReadAllTextAsync(AccessLog, deadline.Token) : "";
            if (log.Split(words).Length > times)
            {
                return log;
            }

            await Task.Delay(10, deadline.Token);
        }
    }

    public async ValueTask DisposeAsync()
    {
        if (Server is not null)
        {
            await Server.DisposeAsync();
        }

        Folder.Dispose();
        _keys.Dispose();
    }

    private void MakeCertificate()
    {
        using var authorityKey = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var authorityRequest = new CertificateRequest("CN=authority", authorityKey, HashAlgorithmName.SHA256);
        authorityRequest.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, false, 0, true));
        using X509Certificate2 authority = authorityRequest.CreateSelfSigned(
            DateTimeOffset.UtcNow.AddDays(-2), DateTimeOffset.UtcNow.AddDays(99));

        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=localhost", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName("localhost");
        names.AddIpAddress(IPAddress.Loopback);
        request.CertificateExtensions.Add(names.Build());
        using X509Certificate2 leaf = request.Create(
            authority, DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(90), RandomNumberGenerator.GetBytes(8));
        File.WriteAllText(Authority, authority.ExportCertificatePem());
        File.WriteAllText(_keys.PathOf("leaf.crt"), leaf.ExportCertificatePem());
        File.WriteAllText(_keys.PathOf("leaf.key"), key.ExportPkcs8PrivateKeyPem());
        KeyHash = Convert.ToBase64String(SHA256.HashData(key.ExportSubjectPublicKeyInfo()));
    }
}
