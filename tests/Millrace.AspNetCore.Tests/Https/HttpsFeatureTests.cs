using System.Collections.Concurrent;
using System.Net;
using System.Net.Security;
using System.Security.Authentication;
using System.Text;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using Millrace.AspNetCore.Https;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Https;

/// <summary>What Kestrel, middleware and applications find of the TLS of a connection, and that it is the same whoever has made it.</summary>
public class HttpsFeatureTests
{
    public static TheoryData<SslProtocols, TlsCipherSuite> Suites => new()
    {
#pragma warning disable CA5398 // Each of them is what is tested.
        { SslProtocols.Tls13, TlsCipherSuite.TLS_AES_128_GCM_SHA256 },
        { SslProtocols.Tls13, TlsCipherSuite.TLS_AES_256_GCM_SHA384 },
        { SslProtocols.Tls13, TlsCipherSuite.TLS_CHACHA20_POLY1305_SHA256 },
        { SslProtocols.Tls12, TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 },
        { SslProtocols.Tls12, TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 },
#pragma warning restore CA5398
    };

    [Theory, MemberData(nameof(Suites))]
    public async Task A_handshake_is_described_as_kestrel_describes_it(SslProtocols protocol, TlsCipherSuite suite)
    {
        string expected = await DescribeAsync(HttpsKind.Kestrel, protocol, suite);

        Assert.Contains(suite.ToString(), expected, StringComparison.Ordinal);
        Assert.Equal(expected, await DescribeAsync(HttpsKind.Millrace, protocol, suite));
        Assert.Equal(expected, await DescribeAsync(HttpsKind.MillraceOnThePool, protocol, suite));
    }

    [Theory, EachHttps]
    public async Task The_host_that_was_named_is_seen(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(
            kind, static context => context.Response.WriteAsync(context.Features.GetRequiredFeature<ITlsHandshakeFeature>().HostName));
        using HttpClient client = application.NewClient();

        // Kestrel looks at it only where it chooses a certificate by it.
        using var request = new HttpRequestMessage(HttpMethod.Get, "/") { Headers = { Host = "site.example" } };
        using HttpResponseMessage response = await client.SendAsync(request);
        Assert.Equal(kind == HttpsKind.Kestrel ? "" : "site.example", await response.Content.ReadAsStringAsync());
    }

    [Theory, EachHttps]
    public async Task The_key_exchange_group_is_seen_where_millrace_has_agreed_on_it(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(
            kind, static context => context.Response.WriteAsync(context.Features.Get<ITlsKeyExchangeFeature>()?.Group ?? "none"));
        using HttpClient client = application.NewClient();

        // What .NET's client offers first, or what the newer of its libraries does.
        string group = await client.GetStringAsync("/");
        Assert.Contains(group, kind == HttpsKind.Kestrel ? ["none"] : (string[])["x25519", "X25519MLKEM768"]);
    }

    [Theory, EachHttps]
    public async Task What_was_chosen_by_alpn_is_seen(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, static context =>
        {
            // It is the connection's, and Kestrel shows the connection's features with the request's.
            ReadOnlyMemory<byte> protocol = context.Features.GetRequiredFeature<ITlsApplicationProtocolFeature>().ApplicationProtocol;
            return context.Response.WriteAsync($"'{Encoding.ASCII.GetString(protocol.Span)}'");
        });
        using HttpClient client = application.NewClient(HttpVersion.Version20);
        await using HttpsClient older = await HttpsClient.ConnectAsync(
            application, static options => options.ApplicationProtocols = [SslApplicationProtocol.Http11]);
        await using HttpsClient silent = await HttpsClient.ConnectAsync(application);
        await older.SendAsync("GET / HTTP/1.0\r\n\r\n");
        await silent.SendAsync("GET / HTTP/1.0\r\n\r\n");

        Assert.Equal("'h2'", await client.GetStringAsync("/"));
        Assert.EndsWith("\r\n'http/1.1'", await older.ReadToEndAsync(), StringComparison.Ordinal);
        Assert.EndsWith("\r\n''", await silent.ReadToEndAsync(), StringComparison.Ordinal);
    }

    [Theory, EachHttps]
    public async Task An_SslStream_is_there_where_one_is_used_and_nowhere_else(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, static context => context.Response.WriteAsync(
            $"{context.Features.Get<ISslStreamFeature>() is null} {context.Features.Get<ITlsConnectionFeature>() is ConnectionTls}"));
        using HttpClient client = application.NewClient();

        Assert.Equal(kind == HttpsKind.Kestrel ? "False False" : "True True", await client.GetStringAsync("/"));
    }

    [Theory, EachHttps]
    public async Task A_certificate_can_be_put_in_the_clients_name(HttpsKind kind)
    {
        // As middleware does that takes a forwarded certificate for the client's.
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, static async context =>
        {
            Assert.Null(await context.Connection.GetClientCertificateAsync());
            context.Connection.ClientCertificate = Certificates.Client;
            await context.Response.WriteAsync((await context.Connection.GetClientCertificateAsync())!.Subject);
        });
        using HttpClient client = application.NewClient();

        Assert.Equal("CN=client", await client.GetStringAsync("/"));
    }

    [Theory, EachHttps]
    public async Task The_metric_of_a_connection_knows_its_version(HttpsKind kind)
    {
        var seen = new ConcurrentBag<string>();
        using var listener = new System.Diagnostics.Metrics.MeterListener();
        listener.InstrumentPublished = static (instrument, listening) =>
        {
            if (instrument.Name == "kestrel.connection.duration")
            {
                listening.EnableMeasurementEvents(instrument);
            }
        };
        listener.SetMeasurementEventCallback<double>((_, _, tags, _) =>
        {
            foreach (KeyValuePair<string, object?> tag in tags)
            {
                if (tag.Key == "tls.protocol.version")
                {
                    seen.Add((string)tag.Value!);
                }
            }
        });
        listener.Start();
        await using RunningApplication application = await HttpsApplication.StartAsync(
            kind, static context => context.Response.WriteAsync("answer"));
        using (HttpClient client = application.NewClient())
        {
            await client.GetStringAsync("/");
        }

        await Waiting.UntilAsync(() => seen.Contains("1.3"), () => $"Seen were: {string.Join(", ", seen)}.");
    }

    private static async Task<string> DescribeAsync(HttpsKind kind, SslProtocols protocol, TlsCipherSuite suite)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, static context =>
        {
            ITlsHandshakeFeature tls = context.Features.GetRequiredFeature<ITlsHandshakeFeature>();
#pragma warning disable SYSLIB0058 // As long as the interface has them.
            return context.Response.WriteAsync(
                $"{tls.Protocol} {tls.NegotiatedCipherSuite}: {tls.CipherAlgorithm} {tls.CipherStrength}, {tls.HashAlgorithm} {tls.HashStrength}, "
                + $"{tls.KeyExchangeAlgorithm} {tls.KeyExchangeStrength}");
#pragma warning restore SYSLIB0058
        });
        await using HttpsClient client = await HttpsClient.ConnectAsync(application, options =>
        {
            options.EnabledSslProtocols = protocol;
#pragma warning disable CA1416 // Millrace is Linux's.
            options.CipherSuitesPolicy = new CipherSuitesPolicy([suite]);
#pragma warning restore CA1416
        });
        await client.SendAsync("GET / HTTP/1.0\r\n\r\n");
        return (await client.ReadToEndAsync())!.Split("\r\n\r\n")[1];
    }
}
