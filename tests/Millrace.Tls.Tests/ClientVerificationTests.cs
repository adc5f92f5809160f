using System.Net;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Text;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>Which servers a client accepts, and what it says of those that it refuses.</summary>
public class ClientVerificationTests : TlsClientTest
{
    [Theory]
    [InlineData("localhost")]
    [InlineData("LOCALHOST")]
    [InlineData("localhost.")]
    [InlineData("127.0.0.1")]
    public async Task A_server_whose_certificate_has_the_name_is_accepted(string host)
    {
        (string authority, CertificateFiles leaf) = Pem.MakeSigned("server", "localhost");
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions(host == "127.0.0.1" ? Pem.Make("ip", "x") : leaf));
        Trust(host == "127.0.0.1" ? Pem.PathOf("ip.crt") : authority);
        string session = await DescribeAsync(listener, host);
        Assert.Contains("Tls13", session, StringComparison.Ordinal);
        Assert.Contains("alpn=http/1.1", session, StringComparison.Ordinal);
        Assert.Contains(host == "127.0.0.1" ? "sni= " : "sni=localhost ", session, StringComparison.Ordinal);
        Assert.Equal(1, Tls.Counters.HandshakesDone);
    }

    /// <summary>
    /// QUIC's transport parameters are not for TCP. The server's hello is one of TLS 1.2, whose extensions all can read.
    /// </summary>
    [Fact]
    [Trait("Rfc", "9001-8.2")]
    public async Task Transport_parameters_are_not_sent_and_refused_with_unsupported_extension()
    {
        byte[] extensions = [0xFF, 1, 0, 1, 0, 0, 57, 0, 3, 1, 2, 3];
        byte[] body = [3, 3, .. new byte[32], 0, 0xC0, 0x2B, 0, 0, (byte)extensions.Length, .. extensions];
        var seen = new TaskCompletionSource<(byte[] Hello, byte[] Response)>(TaskCreationOptions.RunContinuationsAsynchronously);
        IPEndPoint server = ServePlain(async client =>
        {
            byte[] header = await client.ReceiveAsync(5);
            byte[] hello = await client.ReceiveAsync((header[3] << 8) | header[4]);
            await client.SendAsync((byte[])[22, 3, 3, 0, (byte)(4 + body.Length), 2, 0, 0, (byte)body.Length, .. body]);
            client.EndSending();
            seen.SetResult((hello, await client.ReceiveToEndAsync()));
        });
        await StartAsync();
        Pem.Make("server", "localhost");
        Trust(Pem.PathOf("server.crt"));
        await FailTlsAsync(server);
        (byte[] hello, byte[] response) = await seen.Task.Within();
        Assert.DoesNotContain((ushort)SslConstants.ExtensionQuicParameters, HelloReader.ExtensionsOf(hello).Keys);
        Assert.Equal<byte[]>([21, 3, 3, 0, 2, 2, SslConstants.AlertUnsupportedExtension], response);
    }

    [Fact]
    public async Task An_intermediate_that_the_server_sends_is_used_and_one_in_the_file_is_trusted()
    {
        (string root, string authority, CertificateFiles leaf) = Pem.MakeChain("server", "localhost");
        Listener bare = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions(leaf));
        Trust(root);
        Assert.Contains("unknown authority (CN=server authority)", await FailTlsAsync(EndPointOf(bare)), StringComparison.Ordinal);
        Trust(authority);
        await DescribeAsync(bare, "localhost");

        await File.AppendAllTextAsync(leaf.Certificate, "\n" + await File.ReadAllTextAsync(authority));
        Listener whole = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions(leaf));
        Trust(root);
        await DescribeAsync(whole, "localhost");
    }

    [Theory]
    [InlineData("other.test")]
    [InlineData("127.0.0.2")]
    [InlineData("host")]
    public async Task A_certificate_for_another_host_is_refused_with_its_names(string host)
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        Trust(Pem.PathOf("server.crt"));
        string reason = await FailTlsAsync(EndPointOf(listener), host);
        Assert.Contains($"is for localhost, 127.0.0.1 and not for '{host}': correct the upstream's name", reason, StringComparison.Ordinal);
        Assert.Contains(Log.Entries, entry => entry.Id == 600 && entry.Text.Contains(reason, StringComparison.Ordinal));
        Assert.Equal(1, Tls.Counters.HandshakesFailed);
    }

    [Fact]
    public async Task A_common_name_is_not_the_name_of_a_host()
    {
        using TemporaryFolder folder = new();
        var files = new CertificateFiles(folder.File("c"), folder.File("k"));
        await Tools.RunAsync("openssl", "", "req", "-x509", "-newkey", "rsa:2048", "-noenc", "-days", "3", "-subj", "/CN=localhost",
            "-keyout", files.Key, "-out", files.Certificate);
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions(files));
        Trust(files.Certificate);
        Assert.Contains("is for no host (a common name does not count) and not for 'localhost'", await FailTlsAsync(EndPointOf(listener)), StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_expired_certificate_is_refused_with_its_date()
    {
        var until = new DateTimeOffset(2026, 1, 2, 3, 4, 0, TimeSpan.Zero);
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions(Pem.Make("server", until, "localhost")));
        Trust(Pem.PathOf("server.crt"));
        Assert.Contains("expired on 2026-01-02 03:04Z: renew it there", await FailTlsAsync(EndPointOf(listener)), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_certificate_of_the_future_is_refused()
    {
        Listener listener = await ServeTlsAsync(
            WebHandler.ServeAsync, TlsOptions(Pem.Make("server", DateTimeOffset.UtcNow.AddDays(70), "localhost")));
        Trust(Pem.PathOf("server.crt"));
        Assert.Contains("is not valid before", await FailTlsAsync(EndPointOf(listener)), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Who_is_not_trusted_is_refused_with_the_remedy()
    {
        Listener selfSigned = await ServeTlsAsync(WebHandler.ServeAsync);
        Listener ofOthers = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions(Pem.MakeSigned("others", "localhost").Leaf));
        Trust(Pem.MakeSigned("trusted", "x").Authority);
        Assert.Contains("is self-signed", await FailTlsAsync(EndPointOf(selfSigned)), StringComparison.Ordinal);
        string reason = await FailTlsAsync(EndPointOf(ofOthers));
        Assert.Contains("is of an unknown authority (CN=others authority): trust it with --proxy-ca FILE", reason, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_server_that_wants_a_certificate_of_the_client_is_told_apart()
    {
        CertificateFiles files = Pem.Make("server", "localhost");
        Listener listener = await ServeTlsAsync(
            WebHandler.ServeAsync,
            TlsOptions(files) with { ClientCertificates = ClientCertificates.Required, ClientAuthoritiesFile = files.Certificate });
        Trust(files.Certificate);

        // In TLS 1.3 the client's handshake is complete before the server's, and the alert is the first that it reads.
        AuthenticationException failure = await Assert.ThrowsAsync<AuthenticationException>(
            () => AskTlsAsync(EndPointOf(listener), "localhost", "x"u8.ToArray(), 1));
        Assert.Contains("it wants a certificate of its client", failure.Message, StringComparison.Ordinal);

        await using OpenSslServer old = await OpenSslServer.StartAsync("-tls1_2", files, "-Verify", "1");
        Assert.Contains("want one of its client", await FailTlsAsync(old.EndPoint), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_server_without_tls_is_told_apart()
    {
        IPEndPoint server = ServePlain(static async client =>
        {
            await client.ReceiveAsync(10);
            await client.SendAsync("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            await client.ReceiveToEndAsync();
        });
        await StartAsync();
        Trust(Pem.Make("x", "localhost").Certificate);
        Assert.Contains("it does not speak TLS on this port, write http://", await FailTlsAsync(server), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(0, false)]
    [InlineData(5, false)]
    [InlineData(5, true)]

    // At the first byte: a reset before it may already fail the connect.
    [InlineData(1, true)]
    public async Task A_server_that_goes_within_the_handshake_is_told_apart(int received, bool withReset)
    {
        IPEndPoint server = ServePlain(async client =>
        {
            await client.ReceiveAsync(received);
            if (withReset)
            {
                client.Reset();
            }
        });
        await StartAsync();
        Trust(Pem.Make("x", "localhost").Certificate);
        Assert.Contains("the connection within the TLS handshake: it may not speak TLS", await FailTlsAsync(server), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_server_that_never_answers_is_waited_for_as_long_as_for_the_connect()
    {
        IPEndPoint server = ServePlain(static client => client.ReceiveToEndAsync());
        await StartAsync();
        Trust(Pem.Make("x", "localhost").Certificate);
        SocketException refusal = await Assert.ThrowsAsync<SocketException>(
            () => ConnectTlsAsync(server, "localhost", Never, TimeSpan.FromMilliseconds(200)));
        Assert.Equal(SocketError.TimedOut, refusal.SocketErrorCode);
        Assert.Equal(1, Tls.Counters.HandshakesFailed);
    }

    [Fact]
    public async Task An_old_version_is_refused()
    {
        CertificateFiles files = Pem.MakeRsa("server", "localhost");
        IPEndPoint server = ServePlain(static async client =>
        {
            // An alert: protocol_version.
            await client.ReceiveAsync(5);
            await client.SendAsync((byte[])[21, 3, 1, 0, 2, 2, 70]);
            await client.ReceiveToEndAsync();
        });
        await StartAsync();
        Trust(files.Certificate);
        Assert.Contains("it does not speak TLS 1.2 or later", await FailTlsAsync(server), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_server_of_another_protocol_is_refused()
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions() with { ApplicationProtocols = ["h2"] });
        Trust(Pem.PathOf("server.crt"));
        Assert.Contains("it does not speak HTTP/1.1", await FailTlsAsync(EndPointOf(listener)), StringComparison.Ordinal);
    }

    [Fact]
    public async Task The_systems_authorities_are_those_that_openssl_finds()
    {
        (string authority, CertificateFiles leaf) = Pem.MakeSigned("server", "localhost");
        using TemporaryFolder folder = new();
        Directory.CreateDirectory(folder.File("hashed"));
        string hash = (await Tools.RunAsync("openssl", "", "x509", "-in", authority, "-noout", "-hash")).Trim();
        File.Copy(authority, folder.File($"hashed/{hash}.0"));
        await File.WriteAllTextAsync(folder.File("hashed/readme"), "not one");
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions(leaf));
        (string? file, string? folders) = (Environment.GetEnvironmentVariable("SSL_CERT_FILE"), Environment.GetEnvironmentVariable("SSL_CERT_DIR"));
        try
        {
            foreach ((string usedFile, string usedFolder) in new[] { (authority, folder.File("none")), (folder.File("none"), folder.File("hashed")) })
            {
                Environment.SetEnvironmentVariable("SSL_CERT_FILE", usedFile);
                Environment.SetEnvironmentVariable("SSL_CERT_DIR", usedFolder);
                Trust(null);
                await DescribeAsync(listener, "localhost");
            }

            Environment.SetEnvironmentVariable("SSL_CERT_DIR", folder.File("none"));
            TlsException none = Assert.Throws<TlsException>(() => Trust(null));
            Assert.Contains("install them (the package ca-certificates)", none.Message, StringComparison.Ordinal);
        }
        finally
        {
            Environment.SetEnvironmentVariable("SSL_CERT_FILE", file);
            Environment.SetEnvironmentVariable("SSL_CERT_DIR", folders);
        }
    }

    [Fact]
    public async Task Authorities_are_reloaded_and_kept_where_that_fails()
    {
        (string authority, CertificateFiles leaf) = Pem.MakeSigned("server", "localhost");
        string file = Pem.PathOf("trusted");
        File.Copy(Pem.MakeSigned("other", "x").Authority, file);
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions(leaf));
        Trust(file);
        await FailTlsAsync(EndPointOf(listener));
        File.Copy(authority, file, overwrite: true);
        Assert.True(Tls.TryReload());
        await DescribeAsync(listener, "localhost");

        await File.WriteAllTextAsync(file, "damaged");
        Assert.False(Tls.TryReload());
        Assert.Contains(Log.Entries, static entry => entry.Id == 603);
        await DescribeAsync(listener, "localhost");
    }

    private async Task<string> DescribeAsync(Listener listener, string host)
    {
        byte[] request = Encoding.ASCII.GetBytes($"GET /session HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        return Encoding.ASCII.GetString(await AskTlsAsync(EndPointOf(listener), host, request, 80));
    }
}
