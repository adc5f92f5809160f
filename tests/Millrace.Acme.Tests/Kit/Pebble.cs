using System.Globalization;
using System.Net;
using System.Net.Http.Json;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text.Json.Nodes;
using Millrace.Tests.Shared;

namespace Millrace.Acme.Tests.Kit;

/// <summary>How a <see cref="Pebble"/> behaves. By default without the moods it has to train clients with.</summary>
internal sealed record PebbleOptions
{
    /// <summary>Of the good ones, in per cent.</summary>
    public int RejectedNonces { get; init; }

    /// <summary>Of the valid ones that an order could use again, in per cent.</summary>
    public int ReusedAuthorizations { get; init; }

    /// <summary>Whether it validates nothing.</summary>
    public bool AlwaysValid { get; init; }

    /// <summary>Up to so long it waits before it validates.</summary>
    public int SleepSecondsMax { get; init; }

    /// <summary>Intermediate certificates.</summary>
    public int ChainLength { get; init; } = 1;

    public int AlternateRoots { get; init; }

    /// <summary>Key ids with their keys; accounts need one if there are any.</summary>
    public IReadOnlyDictionary<string, string>? ExternalAccounts { get; init; }

    /// <summary>Hosts that get no certificates.</summary>
    public IReadOnlyList<string> Blocked { get; init; } = [];

    /// <summary>Of the certificates; null for its default of five years.</summary>
    public TimeSpan? Validity { get; init; }

    /// <summary>Where it validates by HTTP-01; 0 for one that is free.</summary>
    public int HttpPort { get; init; }

    /// <summary>Where it validates by TLS-ALPN-01; 0 for one that is free.</summary>
    public int TlsPort { get; init; }
}

/// <summary>
/// Debian's <c>pebble</c>, an ACME server for tests, with a DNS server for which every host is this machine. Disposing of it ends both.
/// </summary>
internal sealed class Pebble : IAsyncDisposable
{
    private const string Program = "pebble";
    private const string DnsProgram = "pebble-challtestsrv";
    private const int Attempts = 3;

    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    private readonly string _folder;
    private readonly ChildProcess _dns;
    private readonly ChildProcess _pebble;
    private readonly HttpClient _http;
    private readonly Uri _management;
    private readonly Uri _dnsManagement;

    private Pebble(string folder, Ports ports, ChildProcess dns, ChildProcess pebble)
    {
        _folder = folder;
        _dns = dns;
        _pebble = pebble;
        Directory = new Uri($"https://localhost:{ports.Acme}/dir");
        HttpPort = ports.Http;
        TlsPort = ports.Tls;
        _management = new Uri($"https://localhost:{ports.Management}");
        _dnsManagement = new Uri($"http://127.0.0.1:{ports.DnsManagement}");
        Roots.ImportFromPemFile(RootsFile);
        _http = new HttpClient(new SocketsHttpHandler
        {
            UseProxy = false,
            SslOptions = { CertificateChainPolicy = new X509ChainPolicy
            {
                TrustMode = X509ChainTrustMode.CustomRootTrust,
                RevocationMode = X509RevocationMode.NoCheck,
                CustomTrustStore = { Roots[0] },
            } },
        });
    }

    /// <summary>Whether Debian's package is installed. Tests skip where it is not.</summary>
    public static bool IsInstalled => ChildProcess.IsInstalled(Program) && ChildProcess.IsInstalled(DnsProgram);

    /// <summary>The URL to configure.</summary>
    public Uri Directory { get; }

    /// <summary>By whom pebble's own server is verified, which is not by whom it issues.</summary>
    public X509Certificate2Collection Roots { get; } = [];

    /// <summary>The same in PEM.</summary>
    public string RootsFile => Path.Combine(_folder, "roots.pem");

    /// <summary>Where it validates by HTTP-01, on 127.0.0.1.</summary>
    public int HttpPort { get; }

    /// <summary>Where it validates by TLS-ALPN-01, on 127.0.0.1.</summary>
    public int TlsPort { get; }

    /// <summary>Where the DNS server takes records, in JSON: <c>set-txt</c>, <c>clear-txt</c>.</summary>
    public Uri DnsManagement => _dnsManagement;

    /// <summary>What it has said.</summary>
    public string Log => _pebble.Log;

    /// <summary>Starts it and waits until it answers.</summary>
    public static async Task<Pebble> StartAsync(PebbleOptions? options = null)
    {
        for (int attempt = 1; ; attempt++)
        {
            string folder = System.IO.Directory.CreateTempSubdirectory("millrace-pebble-").FullName;
            try
            {
                return await StartAsync(options ?? new PebbleOptions(), folder);
            }
            catch (Exception e)
            {
                System.IO.Directory.Delete(folder, recursive: true);
                // A port that was free may have been taken.
                if (attempt == Attempts || e is not (InvalidOperationException or SocketException))
                {
                    throw;
                }
            }
        }
    }

    /// <summary>A root that it issues from: the first, or an alternate. New ones are made at each start.</summary>
    public async Task<X509Certificate2> RootAsync(int number = 0) =>
        X509Certificate2.CreateFromPem(await _http.GetStringAsync(new Uri(_management, $"/roots/{number}")));

    /// <summary>"Valid" or "Revoked".</summary>
    public async Task<string> StatusAsync(X509Certificate2 certificate)
    {
        string serial = certificate.SerialNumber.TrimStart('0').ToLowerInvariant();
        JsonNode answer = JsonNode.Parse(await _http.GetStringAsync(new Uri(_management, $"/cert-status-by-serial/{serial}")))!;
        return (string)answer["Status"]!;
    }

    /// <summary>Makes a TXT record.</summary>
    /// <param name="name">Of the record, such as <c>_acme-challenge.host</c>.</param>
    /// <param name="value">Added to those that the record has.</param>
    public Task SetTxtAsync(string name, string value) =>
        SetDnsAsync("set-txt", new JsonObject { ["host"] = name + ".", ["value"] = value });

    public Task ClearTxtAsync(string name) => SetDnsAsync("clear-txt", new JsonObject { ["host"] = name + "." });

    public async ValueTask DisposeAsync()
    {
        _http.Dispose();
        await _pebble.DisposeAsync();
        await _dns.DisposeAsync();
        System.IO.Directory.Delete(_folder, recursive: true);
    }

    private static async Task<Pebble> StartAsync(PebbleOptions options, string folder)
    {
        var ports = new Ports(
            FreePort.Find(), FreePort.Find(), options.HttpPort > 0 ? options.HttpPort : FreePort.Find(),
            options.TlsPort > 0 ? options.TlsPort : FreePort.Find(), FreePort.Find(), FreePort.Find());
        WriteFiles(options, ports, folder);
        ChildProcess? pebble = null;
        ChildProcess dns = ChildProcess.Start(
            DnsProgram, [], "-dns01", $"127.0.0.1:{ports.Dns}", "-management", $"127.0.0.1:{ports.DnsManagement}",
            "-defaultIPv6", "", "-http01", "", "-https01", "", "-tlsalpn01", "");
        try
        {
            pebble = ChildProcess.Start(
                Program, Variables(options), "-config", Path.Combine(folder, "pebble.json"), "-dnsserver", $"127.0.0.1:{ports.Dns}");
            await pebble.SaysAsync("ACME directory available");
            await ConnectAsync(ports.Acme, pebble);
            await ConnectAsync(ports.Management, pebble);
            await ConnectAsync(ports.DnsManagement, dns);
            return new Pebble(folder, ports, dns, pebble);
        }
        catch
        {
            await dns.DisposeAsync();
            if (pebble is not null)
            {
                await pebble.DisposeAsync();
            }

            throw;
        }
    }

    private static List<(string Name, string Value)> Variables(PebbleOptions options)
    {
        List<(string, string)> variables =
        [
            ("PEBBLE_WFE_NONCEREJECT", options.RejectedNonces.ToString(CultureInfo.InvariantCulture)),
            ("PEBBLE_AUTHZREUSE", options.ReusedAuthorizations.ToString(CultureInfo.InvariantCulture)),
            ("PEBBLE_CHAIN_LENGTH", options.ChainLength.ToString(CultureInfo.InvariantCulture)),
            ("PEBBLE_ALTERNATE_ROOTS", options.AlternateRoots.ToString(CultureInfo.InvariantCulture)),
            ("PEBBLE_VA_ALWAYS_VALID", options.AlwaysValid ? "1" : "0"),
            options.SleepSecondsMax > 0
                ? ("PEBBLE_VA_SLEEPTIME", options.SleepSecondsMax.ToString(CultureInfo.InvariantCulture))
                : ("PEBBLE_VA_NOSLEEP", "1"),
        ];
        return variables;
    }

    /// <summary>Its configuration, and a certificate for its own server.</summary>
    private static void WriteFiles(PebbleOptions options, Ports ports, string folder)
    {
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=localhost", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName("localhost");
        names.AddIpAddress(IPAddress.Loopback);
        request.CertificateExtensions.Add(names.Build());
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(certificateAuthority: true, false, 0, critical: true));
        using X509Certificate2 certificate = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(30));
        File.WriteAllText(Path.Combine(folder, "roots.pem"), certificate.ExportCertificatePem());
        File.WriteAllText(Path.Combine(folder, "key.pem"), key.ExportECPrivateKeyPem());
        var pebble = new JsonObject
        {
            ["listenAddress"] = $"127.0.0.1:{ports.Acme}",
            ["managementListenAddress"] = $"127.0.0.1:{ports.Management}",
            ["certificate"] = Path.Combine(folder, "roots.pem"),
            ["privateKey"] = Path.Combine(folder, "key.pem"),
            ["httpPort"] = ports.Http,
            ["tlsPort"] = ports.Tls,
            ["ocspResponderURL"] = "",
            ["externalAccountBindingRequired"] = options.ExternalAccounts is not null,
            ["domainBlocklist"] = new JsonArray([.. options.Blocked.Select(static host => JsonValue.Create(host))]),
        };
        if (options.ExternalAccounts is { } accounts)
        {
            pebble["externalAccountMACKeys"] = new JsonObject(
                accounts.Select(static account => KeyValuePair.Create(account.Key, (JsonNode?)account.Value)));
        }

        if (options.Validity is { } validity)
        {
            pebble["certificateValidityPeriod"] = (long)validity.TotalSeconds;
        }

        File.WriteAllText(Path.Combine(folder, "pebble.json"), new JsonObject { ["pebble"] = pebble }.ToJsonString());
    }

    /// <summary>It says where it listens shortly before it does.</summary>
    private static async Task ConnectAsync(int port, ChildProcess process)
    {
        using var deadline = new CancellationTokenSource(Deadline);
        while (true)
        {
            using var client = new TcpClient();
            try
            {
                await client.ConnectAsync(IPAddress.Loopback, port, deadline.Token);
                return;
            }
            catch (SocketException) when (!process.HasExited)
            {
                // Sleeps: the port is another process's, which has no clock of ours.
                await Task.Delay(TimeSpan.FromMilliseconds(10), deadline.Token);
            }
        }
    }

    private async Task SetDnsAsync(string command, JsonObject arguments)
    {
        using HttpResponseMessage answer = await _http.PostAsJsonAsync(new Uri(_dnsManagement, command), arguments);
        answer.EnsureSuccessStatusCode();
    }

    private sealed record Ports(int Acme, int Management, int Http, int Tls, int Dns, int DnsManagement);
}
