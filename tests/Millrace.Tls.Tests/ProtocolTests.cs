using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using System.Net.Security;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.Handshakes;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>What is spoken, and what is not.</summary>
public class ProtocolTests : TlsTest
{
    private const string Request = "GET /session HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

    [Theory]
    [InlineData("-tls1")]
    [InlineData("-tls1_1")]
    public async Task Old_versions_are_refused(string version)
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        string seen = await Tools.AskAsync(listener, Request, version, "-cipher", "DEFAULT:@SECLEVEL=0");
        Assert.Contains("alert", seen, StringComparison.Ordinal);
        Assert.DoesNotContain("sni=", seen, StringComparison.Ordinal);
        Assert.Equal(1, Terminator.Counters.HandshakesFailed);
    }

    [Fact]
    public async Task The_lowest_version_may_be_raised()
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions() with { MinimumVersion = TlsVersion.Tls13 });
        Assert.DoesNotContain("sni=", await Tools.AskAsync(listener, Request, "-tls1_2"), StringComparison.Ordinal);
        Assert.Contains("Tls13 ", await Tools.AskAsync(listener, Request), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("AES128-GCM-SHA256")]
    [InlineData("ECDHE-ECDSA-AES128-SHA256")]
    [InlineData("ECDHE-ECDSA-AES256-SHA")]
    public async Task Ciphers_without_forward_secrecy_or_aead_are_refused(string cipher)
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        Assert.DoesNotContain(
            "sni=", await Tools.AskAsync(listener, Request, "-tls1_2", "-cipher", cipher + ":@SECLEVEL=0"), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")]
    [InlineData("ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384")]
    [InlineData("ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256")]
    public async Task The_servers_order_of_ciphers_holds_but_for_clients_without_aes(string offered, string chosen)
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        Assert.Contains($"Tls12 {chosen} ", await Tools.AskAsync(listener, Request, "-tls1_2", "-cipher", offered), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("X25519", "x25519")]
    [InlineData("P-256", "secp256r1")]
    [InlineData("P-384", "secp384r1")]
    public async Task The_groups_that_clients_have_are_spoken_and_reported(string group, string name)
    {
        // In TLS 1.2 the curve of an ECDSA certificate must be among the client's.
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions(Pem.MakeRsa("rsa", "localhost")));
        Assert.Matches($"Tls13 .* group={name} ", await Tools.AskAsync(listener, Request, "-groups", group));
        Assert.Matches($"Tls12 .* group={name} ", await Tools.AskAsync(listener, Request, "-tls1_2", "-groups", group));
    }

    /// <summary>The client is of the same library, and offers what that has: from 3.5 on the post-quantum group first.</summary>
    [Fact]
    public async Task The_best_group_of_the_library_is_chosen()
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        string expected = Library.HasHybridGroup ? "X25519MLKEM768" : "x25519";
        Assert.Contains($" group={expected} ", await Tools.AskAsync(listener, Request), StringComparison.Ordinal);

        // A client that has guessed another is asked for the post-quantum group, but not for one that is only a little faster.
        (string groups, string group) = Library.HasHybridGroup ? ("P-256:X25519MLKEM768", "X25519MLKEM768") : ("P-256:X25519", "secp256r1");
        Assert.Contains($" group={group} ", await Tools.AskAsync(listener, Request, "-groups", groups), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Handshakes_are_counted_by_group_and_a_resumed_session_has_one_too()
    {
        var seen = new ConcurrentQueue<string>();
        using var meters = new MeterListener();
        meters.InstrumentPublished = static (instrument, listening) =>
        {
            if (instrument.Name == "millrace.tls.handshakes")
            {
                listening.EnableMeasurementEvents(instrument);
            }
        };
        meters.SetMeasurementEventCallback<long>(
            (_, _, tags, _) => seen.Enqueue(string.Join(' ', tags.ToArray().Select(static tag => $"{tag.Key}={tag.Value}"))));
        meters.Start();
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        string ticket = Pem.PathOf("ticket");
        await Tools.AskAsync(listener, Request, "-groups", "P-384", "-sess_out", ticket);
        await Tools.AskAsync(listener, Request, "-groups", "P-384", "-sess_in", ticket);
        Assert.DoesNotContain("sni=", await Tools.AskAsync(listener, Request, "-groups", "X448"), StringComparison.Ordinal);

        // Other tests of this process handshake, too.
        Assert.Contains("outcome=full group=secp384r1", seen);
        Assert.Contains("outcome=resumed group=secp384r1", seen);
        Assert.Contains("outcome=failed", seen);
    }

    [Fact]
    public async Task Renegotiation_is_refused_and_the_connection_goes_on()
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        Tools.Require("openssl");

        // A line with R alone asks s_client to renegotiate; it gives up when it is refused.
        string seen = await Tools.RunAsync(
            "openssl", "R\n", "s_client", "-connect", $"127.0.0.1:{PortOf(listener)}", "-tls1_2");
        Assert.Contains("RENEGOTIATING", seen, StringComparison.Ordinal);
        Assert.Contains("no renegotiation", seen, StringComparison.Ordinal);
        Assert.Equal(1, Terminator.Counters.HandshakesDone);
    }

    [Fact]
    public async Task Updates_of_keys_are_answered()
    {
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync);

        // K: update, and ask for an update. What follows is encrypted with new keys both ways.
        await Tools.ConverseAsync(
            listener, ("K\n", "KEYUPDATE"), ("first\n", "first"), ("K\n", "KEYUPDATE"), ("second\n", "second"));
    }

    /// <summary>RFC 6066, section 4. With a large certificate of the client, each of the server's tickets is many records.</summary>
    [Theory]
    [InlineData(512, false)]
    [InlineData(512, true)]
    [InlineData(2048, false)]
    public async Task A_client_that_asks_for_short_records_gets_them(int most, bool hasCertificate)
    {
        Tools.Require("openssl");
        string[] certificate = [];
        TlsOptions options = TlsOptions();
        if (hasCertificate)
        {
            string names = string.Join(',', Enumerable.Range(0, 250).Select(static i => $"DNS:host{i}.example.org"));
            string key = Pem.PathOf("client.key");
            string file = Pem.PathOf("client.pem");
            await Tools.RunAsync(
                "openssl", "", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=client",
                "-addext", $"subjectAltName={names}", "-keyout", key, "-out", file);
            certificate = ["-cert", file, "-key", key];
            options = options with { ClientCertificates = ClientCertificates.Optional };
        }

        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, options);
        string seen = await Tools.AskAsync(
            listener, "GET /20000 HTTP/1.1\r\nConnection: close\r\n\r\n", ["-maxfraglen", $"{most}", .. certificate]);
        Assert.Contains("Content-Length: 20000", seen, StringComparison.Ordinal);
        Assert.Equal(0, Log.Count(601));
        Assert.True(seen.Length > 20_000, $"{seen.Length} characters");
    }

    [Theory]
    [InlineData("h2,http/1.1", "http/1.1,h2", "h2")]
    [InlineData("h2,http/1.1", "http/1.1", "http/1.1")]
    [InlineData("http/1.1", "h2,http/1.1", "http/1.1")]
    [InlineData("h2", "h3,h2c,h2", "h2")]
    public async Task The_servers_order_of_protocols_holds(string ours, string offered, string chosen)
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions() with { ApplicationProtocols = ours.Split(',') });
        SslStream stream = await ConnectTlsAsync(listener, new SslClientAuthenticationOptions
        {
            TargetHost = "localhost",
            ApplicationProtocols = [.. offered.Split(',').Select(static name => new SslApplicationProtocol(name))],
        });
        Assert.Equal(chosen, stream.NegotiatedApplicationProtocol.ToString());
    }

    [Fact]
    public async Task A_client_without_a_protocol_in_common_gets_an_alert()
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        string seen = await Tools.AskAsync(listener, Request, "-alpn", "h3,spdy/3");
        Assert.Contains("no application protocol", seen, StringComparison.Ordinal);
        Assert.Equal((0, 1), (Terminator.Counters.HandshakesDone, Terminator.Counters.HandshakesFailed));
    }

    [Fact]
    public async Task A_client_without_alpn_is_served()
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        Assert.Contains("alpn= ", await Tools.AskAsync(listener, Request), StringComparison.Ordinal);
    }

    [Fact]
    public void Malformed_lists_of_protocols_hold_nothing()
    {
        var protocol = new ApplicationProtocol("h2");
        Assert.Equal(1, protocol.FindIn([2, (byte)'h', (byte)'2']));
        Assert.Equal(4, protocol.FindIn([2, (byte)'h', (byte)'3', 2, (byte)'h', (byte)'2']));
        Assert.Equal(-1, protocol.FindIn([200, (byte)'h', (byte)'2']));
        Assert.Equal(-1, protocol.FindIn([]));
        Assert.Throws<TlsException>(() => new ApplicationProtocol(""));
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task Secrets_are_written_where_that_was_asked_for_and_it_is_logged()
    {
        string file = Pem.PathOf("keys.log");
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions() with { KeyLogFile = file });
        SslStream stream = await ConnectTlsAsync(listener);
        await stream.ShutdownAsync().Within();

        // Its end says that the server has seen the client's Finished, too: only then are there all secrets.
        Assert.Equal(0, await stream.ReadAsync(new byte[1], TestContext.Current.CancellationToken).AsTask().Within());
        string[] lines = await File.ReadAllLinesAsync(file, TestContext.Current.CancellationToken);
        Assert.Contains(lines, static line => line.StartsWith("CLIENT_TRAFFIC_SECRET_0 ", StringComparison.Ordinal));
        Assert.Equal("600\n", await Tools.RunAsync("stat", "", "-c", "%a", file));
        Assert.Equal(1, Log.Count(607));
        stream.Dispose();
        await Group.StopAsync(TimeSpan.FromSeconds(5)).Within();
        Terminator.Dispose();
    }

    [Fact]
    public void A_library_that_is_missing_is_named_with_a_remedy()
    {
        string? refusal = OpenSsl.OpenSslLibrary.RefusalOf("libmissing.so.3");
        Assert.NotNull(refusal);
        Assert.Contains("libmissing.so.3", refusal, StringComparison.Ordinal);
        Assert.Contains("apt install libssl3", refusal, StringComparison.Ordinal);
        Assert.Null(OpenSsl.OpenSslLibrary.RefusalOf(missing: null));
    }
}
