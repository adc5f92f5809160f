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
    private static readonly HttpClient Http = new();

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
    public static Task<Http3Site> StartAsync(Action<TempFolder> fill, params string[] flags) => StartAtAsync("127.0.0.1", fill, flags);

    /// <summary>Starts one at an address of this machine.</summary>
    public static async Task<Http3Site> StartAtAsync(string address, Action<TempFolder> fill, params string[] flags)
    {
        var site = new Http3Site();
        try
        {
            fill(site.Folder);
            site.MakeCertificate();
            site.Server = await ServerProcess.StartAsync(
            [
                site.Folder.Root, "--https", $"{address}:0", "--http3", "--cert", site._keys.PathOf("leaf.crt"),
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

    /// <summary>Starts one whose metrics can be read.</summary>
    public static Task<Http3Site> StartWithMetricsAsync(Action<TempFolder> fill, params string[] flags) =>
        StartAsync(fill, ["--admin", "127.0.0.1:0", .. flags]);

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

    /// <summary>The sum of a metric's series that have these labels.</summary>
    public async Task<double> ReadMetricAsync(string name, params (string Label, string Value)[] labels)
    {
        using var deadline = new CancellationTokenSource(Patience);
        string text = await Http.GetStringAsync(new Uri(Server.Admin, "metrics"), deadline.Token);
        return MetricsText.Parse(text).Sum(name, labels);
    }

    /// <summary>Waits until a metric has at least this value.</summary>
    public Task AwaitMetricAsync(string name, double value, params (string Label, string Value)[] labels) =>
        AwaitMetricAsync(name, now => now >= value, labels);

    /// <summary>Waits until every connection over HTTP/3 has ended.</summary>
    public Task AwaitNoConnectionsAsync() => AwaitMetricAsync("millrace_quic_connections_active", static now => now == 0);

    public async ValueTask DisposeAsync()
    {
        if (Server is not null)
        {
            await Server.DisposeAsync();
        }

        Folder.Dispose();
        _keys.Dispose();
    }

    private async Task AwaitMetricAsync(string name, Func<double, bool> isReached, params (string Label, string Value)[] labels)
    {
        using var deadline = new CancellationTokenSource(Patience);
        double value;
        while (!isReached(value = await ReadMetricAsync(name, labels)))
        {
            Assert.False(deadline.IsCancellationRequested, $"{name} is still {value}.");

            // Sleeps: the counters are another process's.
            await Task.Delay(20);
        }
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
