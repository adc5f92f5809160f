using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>Handshakes as no library makes them: each is served, or refused at once, and costs nobody else anything.</summary>
public class HostileHelloTests : TlsTest
{
    private const byte Alert = 21;
    private const byte HandshakeRecord = 22;
    private const byte ServerHello = 2;

    [Theory]
    [InlineData(1)]
    [InlineData(3)]
    [InlineData(50)]
    public async Task A_hello_may_be_split_over_records_of_any_size(int recordBytes)
    {
        byte[] response = await ResponseToAsync(HandMadeHello.InRecords(new HandMadeHello().Message, recordBytes));
        Assert.Equal((HandshakeRecord, ServerHello), (response[0], response[5]));
    }

    // RFC 6066, section 3: host names are ASCII without a trailing dot, and no addresses. What is not, has the default certificate.
    [Theory]
    [InlineData("A.EXAMPLE", "a.example")]
    [InlineData("a.example.", "a.example")]
    [InlineData("www.b.example.", "*.b.example")]
    [InlineData(".b.example", "default.example")]
    [InlineData(".", "default.example")]
    [InlineData("", "default.example")]
    [InlineData("127.0.0.1", "default.example")]
    [InlineData("[::1]", "default.example")]
    [InlineData("\u00E4\u00FF.example", "default.example")]
    [InlineData("a.example\r\n", "default.example")]
    public async Task A_name_that_is_odd_finds_what_it_means_or_the_default(string name, string shown)
    {
        byte[] response = await ResponseToAsync(Naming(Encoding.Latin1.GetBytes(name)));
        Assert.Equal((HandshakeRecord, ServerHello), (response[0], response[5]));
        AssertShown(shown, response);
    }

    [Fact]
    public async Task A_name_of_255_bytes_is_one()
    {
        byte[] name = [.. Enumerable.Repeat((byte)'x', 245), .. ".b.example"u8];
        AssertShown("*.b.example", await ResponseToAsync(Naming(name)));
    }

    [Theory]
    [InlineData("a.example\0")]
    [InlineData("\0")]
    [InlineData("a\0.example")]
    public Task A_name_with_a_nul_is_refused(string name) => AssertRefusedAsync(Naming(Encoding.Latin1.GetBytes(name)));

    [Fact]
    public Task A_name_of_256_bytes_is_refused() => AssertRefusedAsync(Naming([.. Enumerable.Repeat((byte)'x', 256)]));

    /// <summary>QUIC's transport parameters are not for TCP.</summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    [Trait("Rfc", "9001-8.2")]
    public async Task A_hello_with_transport_parameters_is_refused_with_unsupported_extension(bool isTls13)
    {
        HandMadeHello hello = new() { IsTls13 = isTls13, TransportParameters = [1, 2, 3] };
        byte[] response = await AssertFailsAsync(HandMadeHello.InRecords(hello.Message));
        Assert.Equal<byte[]>([Alert, 3, 3, 0, 2, 2, SslConstants.AlertUnsupportedExtension], response);
        Assert.Contains(Log.Entries, static entry => entry.Text.Contains("has QUIC's transport parameters", StringComparison.Ordinal));
    }

    /// <summary>CRIME: the length of compressed data reveals its content.</summary>
    [Fact]
    public async Task Compression_is_never_agreed_on()
    {
        byte[] response = await ResponseToAsync(HandMadeHello.InRecords(new HandMadeHello { Compressions = [1, 64, 0] }.Message));
        int compressionAt = 5 + 4 + 2 + 32 + 1 + response[5 + 4 + 2 + 32] + 2;
        Assert.Equal(0, response[compressionAt]);
        await AssertRefusedAsync(HandMadeHello.InRecords(new HandMadeHello { Compressions = [1] }.Message));
    }

    /// <summary>It is passed over (RFC 8446, section 4.2.10), but not without end.</summary>
    [Fact]
    public async Task Early_data_without_end_is_refused()
    {
        byte[] hello = HandMadeHello.InRecords(new HandMadeHello { IsTls13 = true, AnnouncesEarlyData = true }.Message);
        byte[] early = [23, 3, 3, 4, 0, .. new byte[1024]];
        await AssertFailsAsync([.. hello, .. Enumerable.Repeat(early, 40).SelectMany(static record => record)]);
    }

    [Theory]
    [InlineData(20, 1, 1)]
    [InlineData(21, 1, 90)]
    [InlineData(22)]
    [InlineData(24, 1, 0, 9)]
    public async Task Records_without_end_around_a_hello_are_refused(byte type, params int[] content)
    {
        byte[] record = [type, 3, 3, 0, (byte)content.Length, .. content.Select(static one => (byte)one)];
        byte[] flood = [.. Enumerable.Repeat(record, 2_000).SelectMany(static one => one)];
        await AssertFailsAsync(flood);
        await AssertFailsAsync([.. HandMadeHello.InRecords(new HandMadeHello().Message), .. flood]);
    }

    [Theory]
    [InlineData(21, 1, 90)]
    [InlineData(22)]
    public async Task A_hello_that_says_it_is_huge_is_not_waited_for_after_other_records(byte type, params int[] content)
    {
        byte[] before = [type, 3, 1, 0, (byte)content.Length, .. content.Select(static one => (byte)one)];
        Assert.Empty(await AssertFailsAsync([.. before, HandshakeRecord, 3, 1, 0, 4, 1, 1, 0xFF, 0]));
    }

    /// <summary>64 KiB are enough for any that leads to a root.</summary>
    [Theory]
    [InlineData(1_000, true)]
    [InlineData(3_000, false)]
    public async Task A_clients_certificate_may_be_large_and_not_huge(int names, bool isServed)
    {
        CertificateFiles files = Pem.Make("client", [.. Enumerable.Range(0, names).Select(static i => $"{i:D8}.large.example")]);
        using var made = X509Certificate2.CreateFromPemFile(files.Certificate, files.Key);
        using X509Certificate2 own = X509CertificateLoader.LoadPkcs12(made.Export(X509ContentType.Pkcs12), password: null);
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync, TlsOptions() with { ClientCertificates = ClientCertificates.Required });
        Client client = await ConnectAsync(listener);
        SslStream stream = Keep(new SslStream(new System.Net.Sockets.NetworkStream(client.Socket)));
        try
        {
            await stream.AuthenticateAsClientAsync(
                Trusting(new SslClientAuthenticationOptions { TargetHost = "localhost", ClientCertificates = [own] })).Within();
        }
        catch (IOException) when (!isServed)
        {
            // By TLS 1.3 a client is done before its certificate has been looked at.
        }

        await Waiting.UntilAsync(
            () => (isServed ? Terminator.Counters.HandshakesDone : Terminator.Counters.HandshakesFailed) == 1, "the handshake is over");
        Assert.Equal(1, Terminator.Counters.HandshakesDone + Terminator.Counters.HandshakesFailed);
        Assert.Equal(!isServed, Log.Entries.Any(static entry => entry.Text.Contains("excessive message size", StringComparison.Ordinal)));
    }

    private static byte[] Naming(byte[] serverName) => HandMadeHello.InRecords(new HandMadeHello { ServerName = serverName }.Message);

    private static void AssertShown(string name, byte[] response) =>
        Assert.True(response.AsSpan().IndexOf(Encoding.ASCII.GetBytes(name)) >= 0, $"{name} was not shown");

    private async Task<Client> ConnectAsync()
    {
        TlsOptions options = TlsOptions(
            Pem.Make("default", "default.example"), Pem.Make("a", "a.example"), Pem.Make("b", "*.b.example"));
        return await ConnectAsync(await ServeTlsAsync(Handlers.EchoAsync, options with { HandshakeTimeout = TimeSpan.FromHours(1) }));
    }

    /// <summary>Its first flight: small, so that it comes in one piece over the loopback, or is waited for.</summary>
    private async Task<byte[]> ResponseToAsync(byte[] hello)
    {
        Client client = await ConnectAsync();
        await client.SendAsync(hello);
        client.EndSending();
        return await client.ReceiveToEndAsync();
    }

    private async Task AssertRefusedAsync(byte[] hello) => Assert.Equal(Alert, (await AssertFailsAsync(hello))[0]);

    /// <summary>Asserts that the connection is ended by the server, without waiting for more or for a deadline.</summary>
    private async Task<byte[]> AssertFailsAsync(byte[] bytes)
    {
        Client client = await ConnectAsync();
        byte[] response = [];
        try
        {
            await client.SendAsync(bytes);
            response = await client.ReceiveToEndAsync();
        }
        catch (System.Net.Sockets.SocketException)
        {
            // A reset, where bytes crossed the end.
        }

        await Waiting.UntilAsync(() => Terminator.Counters.HandshakesFailed == 1, "the failure is counted");
        return response;
    }
}
