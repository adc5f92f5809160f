using System.Collections.Concurrent;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Time.Testing;
using Millrace.Acme.Tests.Kit;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Https;

/// <summary>Applications that obtain certificates from a server that others have made.</summary>
public class AcmePebbleTests
{
    private const string Host = "a.example";

    [Theory, EachAcmeTls]
    public async Task An_application_obtains_its_certificate(AcmeTls kind)
    {
        await using Pebble pebble = await StartPebbleAsync();
        using var folder = new TemporaryFolder();
        await using RunningApplication application = await StartAsync(kind, pebble, folder.Path, $"{Host},www.{Host}");
        LogEntry obtained = await application.Log.ExpectAsync("Obtained");
        Assert.Contains(kind == AcmeTls.Millrace ? "tls-alpn-01" : "http-01", obtained.Text, StringComparison.Ordinal);
        Assert.DoesNotContain(application.Log.Entries, static entry => entry.Event.Name == "Failed");

        using X509Certificate2 root = await pebble.RootAsync();
        using HttpClient client = NewClient(application, options => options.Trust(root));
        foreach (string host in (string[])[Host, $"www.{Host}"])
        {
            await EventuallyAsync(async () => Assert.Equal("HTTP/1.1 https", await client.GetStringAsync($"https://{host}/")));
        }
    }

    [Theory, EachAcmeTls(TakesSeconds = true)]
    [Trait("Duration", "Full")]
    public async Task Renewals_under_load_fail_no_request(AcmeTls kind)
    {
        await using Pebble pebble = await StartPebbleAsync();
        using var folder = new TemporaryFolder();
        var clock = new FakeTimeProvider(DateTimeOffset.UtcNow);
        await using RunningApplication application = await StartAsync(kind, pebble, folder.Path, Host, clock);
        using X509Certificate2 root = await pebble.RootAsync();
        await AdvanceUntilAsync(clock, async () =>
        {
            using X509Certificate2 shown = await application.ShownAsync(Host);
            return shown.Issuer != shown.Subject;
        });

        using var load = new Load(application, root);
        await Waiting.UntilAsync(() => !load.Certificates.IsEmpty, () => "Nobody was served.");
        foreach (TimeSpan time in (TimeSpan[])[TimeSpan.FromDays(61), TimeSpan.FromHours(2), TimeSpan.FromHours(2)])
        {
            int seen = load.Certificates.Count;
            clock.Advance(time);
            await AdvanceUntilAsync(clock, () => Task.FromResult(load.Certificates.Count > seen));
        }

        await load.EndAsync();
        Assert.Empty(load.Failures);
    }

    private static async Task<Pebble> StartPebbleAsync()
    {
        Assert.SkipUnless(Pebble.IsInstalled, "pebble is not installed.");
        return await Pebble.StartAsync(new PebbleOptions { Validity = TimeSpan.FromDays(90) });
    }

    /// <summary>TLS where pebble validates by TLS-ALPN-01, and a plain endpoint where it validates by HTTP-01.</summary>
    private static Task<RunningApplication> StartAsync(
        AcmeTls kind, Pebble pebble, string folder, string domain, TimeProvider? clock = null) => AcmeApplication.StartAsync(
            kind,
            static _ => { },
            clock,
            endpoints: kestrel =>
            {
                kestrel.Listen(IPAddress.Loopback, pebble.TlsPort, listen => listen.UseAcme(kind, acme =>
                {
                    acme.Directory = folder;
                    acme.Server = pebble.Directory;
                    acme.RootsFile = pebble.RootsFile;
                    acme.Domains.Add(domain);
                }));
                kestrel.Listen(IPAddress.Loopback, pebble.HttpPort);
            });

    private static HttpClient NewClient(
        RunningApplication application, Action<SslClientAuthenticationOptions> tls, Action<SocketsHttpHandler>? adjust = null) =>
        application.NewClient(adjust: handler =>
        {
            tls(handler.SslOptions);
            handler.ConnectCallback = async (_, cancel) =>
            {
                var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
                await socket.ConnectAsync(application.EndPoint, cancel);
                return new NetworkStream(socket, ownsSocket: true);
            };
            adjust?.Invoke(handler);
        });

    private static async Task EventuallyAsync(Func<Task> assertion)
    {
        using var patience = new CancellationTokenSource(Waiting.Patience);
        while (true)
        {
            try
            {
                await assertion();
                return;
            }
            catch (HttpRequestException) when (!patience.IsCancellationRequested)
            {
                // What is obtained is served a moment after it is logged.
            }
        }
    }

    /// <summary>Sleeps: pebble takes its own time for what the application asks of it, second by second of a clock that is ahead.</summary>
    private static async Task AdvanceUntilAsync(FakeTimeProvider clock, Func<Task<bool>> condition)
    {
        using var patience = new CancellationTokenSource(Waiting.Patience);
        while (!await condition())
        {
            await Task.Delay(TimeSpan.FromMilliseconds(20), patience.Token);
            clock.Advance(TimeSpan.FromSeconds(1));
        }
    }

    private sealed class TemporaryFolder : IDisposable
    {
        private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("millrace-acme-");

        public string Path => System.IO.Path.Combine(_folder.FullName, "acme");

        public void Dispose() => _folder.Delete(recursive: true);
    }

    /// <summary>Requests of clients that keep their connections and of others that do not, which trust the authority's root only.</summary>
    private sealed class Load : IDisposable
    {
        private readonly CancellationTokenSource _end = new();
        private readonly Task _running;

        public Load(RunningApplication application, X509Certificate2 root) => _running = Task.WhenAll(
            Enumerable.Range(0, 4).Select(number => Task.Run(() => RunAsync(application, root, keepsConnections: number % 2 == 0))));

        public ConcurrentDictionary<string, bool> Certificates { get; } = new();

        public ConcurrentQueue<Exception> Failures { get; } = new();

        public async Task EndAsync()
        {
            await _end.CancelAsync();
            await _running.Within();
        }

        public void Dispose()
        {
            _end.Cancel();
            _end.Dispose();
        }

        private async Task RunAsync(RunningApplication application, X509Certificate2 root, bool keepsConnections)
        {
            using HttpClient client = NewClient(
                application,
                options =>
                {
                    options.Trust(root);
                    options.RemoteCertificateValidationCallback = (_, certificate, _, errors) =>
                    {
                        Certificates.TryAdd(certificate!.GetCertHashString(), true);
                        return errors == SslPolicyErrors.None;
                    };
                },
                handler => handler.PooledConnectionLifetime = keepsConnections ? TimeSpan.FromMinutes(10) : TimeSpan.Zero);
            while (!_end.IsCancellationRequested)
            {
                try
                {
                    await client.GetStringAsync($"https://{Host}/");
                }
                catch (HttpRequestException failure)
                {
                    Failures.Enqueue(failure);
                }
            }
        }
    }
}
