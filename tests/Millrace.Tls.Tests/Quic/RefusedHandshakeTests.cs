using System.Runtime.InteropServices;
using System.Security.Cryptography.X509Certificates;
using Millrace.Quic.Protection;
using Millrace.Tls.Certificates;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Tests.Kit;
using Millrace.Tls.Tests.Quic.Kit;

namespace Millrace.Tls.Tests.Quic;

public sealed class RefusedHandshakeTests : QuicTlsTest
{
    private const int CertificateExpired = 45;
    private const int UnknownAuthority = 48;
    private const int BadCertificate = 42;
    private const int HandshakeFailure = 40;
    private const int CertificateRequired = 116;
    private const int ProtocolVersion = 70;

    [Fact]
    [Trait("Rfc", "9001-8.1")]
    public void A_client_that_offers_only_other_protocols_is_refused_with_alert_120()
    {
        (string authority, CertificateFiles leaf) = Pem.MakeSigned("server", "localhost");
        HandshakeEnd client = Connect(Trust(authority), "localhost", "h3");
        HandshakeEnd server = Accept(Terminate(Options(leaf)));
        Run(client, server);
        Assert.Equal(SslConstants.AlertNoApplicationProtocol, server.Alert);
        Assert.DoesNotContain((EncryptionLevel.Handshake, true), server.Levels);
    }

    [Theory]
    [InlineData(false, true, SslConstants.AlertNoApplicationProtocol)]
    [InlineData(true, false, SslConstants.AlertMissingExtension)]
    [Trait("Rfc", "9001-8.1")]
    [Trait("Rfc", "9001-8.2")]
    public void A_hello_without_a_protocol_or_transport_parameters_is_refused(bool hasProtocols, bool hasParameters, int alert)
    {
        HandshakeEnd server = ServerOf("localhost");
        server.Receive(EncryptionLevel.Initial, Hello(hasProtocols, hasParameters).Message);
        Assert.Equal(alert, server.Alert);
        Assert.Equal([$"alert {alert}"], server.Log);
    }

    [Fact]
    [Trait("Rfc", "9001-8.1")]
    [Trait("Rfc", "9001-8.2")]
    public void A_hand_made_hello_with_both_is_answered()
    {
        HandshakeEnd server = ServerOf("localhost");
        server.Receive(EncryptionLevel.Initial, Hello(true, true).Message);
        Assert.Null(server.Alert);
        Assert.Contains("send Handshake 20", server.Log);
        Assert.Equal<byte[]>([1, 2, 3], server.PeerParameters!);
    }

    /// <summary>TLS_AES_128_CCM_8_SHA256, one that is reserved (RFC 8701), and one that is not assigned.</summary>
    [Fact]
    [Trait("Rfc", "9001-5.3")]
    public void A_hello_with_unknown_cipher_suites_beside_a_known_one_is_answered()
    {
        byte[] suites = [0x13, 0x05, 0x0A, 0x0A, 0xFE, 0xFE, 0x13, 0x01];
        HandshakeEnd server = ServerOf("localhost");
        server.Receive(EncryptionLevel.Initial, (Hello(true, true) with { CipherSuites = suites }).Message);
        Assert.Null(server.Alert);
        Assert.Contains("send Handshake 20", server.Log);

        HandshakeEnd other = ServerOf("localhost");
        other.Receive(EncryptionLevel.Initial, (Hello(true, true) with { CipherSuites = suites[..^2] }).Message);
        Assert.Equal(HandshakeFailure, other.Alert);
    }

    /// <summary>RFC 7301 names this alert for servers only.</summary>
    [Fact]
    [Trait("Rfc", "9001-8.1")]
    public void A_client_ends_with_alert_120_if_the_server_selects_no_protocol()
    {
        (HandshakeEnd client, HandshakeEnd server) = MakePair(static options => options with { ApplicationProtocols = [] });
        Run(client, server);
        Assert.Equal(SslConstants.AlertNoApplicationProtocol, client.Alert);
        Assert.False(client.IsComplete);
    }

    [Fact]
    [Trait("Rfc", "9001-8.1")]
    public unsafe void A_client_ends_with_alert_120_if_the_server_selects_a_protocol_that_was_not_offered()
    {
        (string authority, CertificateFiles leaf) = Pem.MakeSigned("server", "localhost");
        TlsTerminator terminator = Terminate(Options(leaf));
        CertificateSet certificates = terminator.Certificates.Acquire();
        LibSsl.SSL_CTX_set_alpn_select_cb(certificates.Default.Handle, &SelectAnother, null);
        certificates.Release();
        HandshakeEnd client = Connect(Trust(authority));
        HandshakeEnd server = Accept(terminator);
        Run(client, server);
        Assert.Contains("send Handshake 20", server.Log);
        Assert.Equal(SslConstants.AlertNoApplicationProtocol, client.Alert);
        Assert.False(client.IsComplete);
    }

    [Fact]
    [Trait("Rfc", "9001-8.4")]
    public void A_hello_that_asks_for_middlebox_compatibility_is_refused()
    {
        HandshakeEnd server = ServerOf("localhost");
        server.Receive(EncryptionLevel.Initial, (Hello(true, true) with { SessionId = new byte[32] }).Message);
        Assert.Equal(SslConstants.AlertIllegalParameter, server.Alert);
    }

    [Fact]
    [Trait("Rfc", "9001-4.2")]
    public void A_client_of_tls_1_2_is_refused()
    {
        HandshakeEnd server = ServerOf("localhost");
        server.Receive(EncryptionLevel.Initial, (Hello(true, true) with { IsTls13 = false }).Message);
        Assert.Equal(ProtocolVersion, server.Alert);
    }

    [Fact]
    public void A_hello_that_announces_a_huge_length_is_refused_at_its_fourth_byte()
    {
        HandshakeEnd server = ServerOf("localhost");
        server.Receive(EncryptionLevel.Initial, [1, 0]);
        server.Receive(EncryptionLevel.Initial, [128]);
        Assert.Null(server.Alert);
        server.Receive(EncryptionLevel.Initial, [1]);
        Assert.Equal(SslConstants.AlertIllegalParameter, server.Alert);
    }

    [Fact]
    public void Bytes_that_are_no_hello_are_refused_and_what_follows_is_ignored()
    {
        HandshakeEnd server = ServerOf("localhost");
        server.Receive(EncryptionLevel.Initial, [2, 0, 0, 4, 1, 1, 1, 1]);
        Assert.Equal(SslConstants.AlertUnexpectedMessage, server.Alert);
        server.Receive(EncryptionLevel.Initial, new byte[100]);
        server.Receive(EncryptionLevel.Handshake, new byte[100]);
        Assert.Single(server.Log);
    }

    /// <summary>Every byte of the ClientHello in turn; some changes are harmless.</summary>
    [Fact]
    public void A_hello_with_a_changed_byte_is_refused_with_an_alert_or_answered()
    {
        (HandshakeEnd client, _) = MakePair();
        client.Start();
        byte[] hello = client.Next().Bytes;
        TlsTerminator terminator = Terminate(Options(Pem.Make("other", "localhost")));
        for (int i = 0; i < hello.Length; i++)
        {
            byte[] changed = [.. hello];
            changed[i] ^= 0x55;
            using HandshakeEnd server = Accept(terminator);
            server.Start();
            server.Receive(EncryptionLevel.Initial, changed);
            Assert.True(server.Alert is not null || server.HasToSend || i is > 0 and < 4, $"byte {i}: {string.Join(", ", server.Log)}");
        }
    }

    /// <summary>Every byte of the server's messages in turn: the client finds each change.</summary>
    [Fact]
    public void A_servers_message_with_a_changed_byte_fails_the_client()
    {
        (string authority, CertificateFiles leaf) = Pem.MakeSigned("server", "localhost");
        TlsTerminator terminator = Terminate(Options(leaf));
        TlsClient trust = Trust(authority);
        for (int at = 0; at < 1200; at += 13)
        {
            using HandshakeEnd client = Connect(trust);
            using HandshakeEnd server = Accept(terminator);
            client.Start();
            server.Start();
            server.Receive(EncryptionLevel.Initial, client.Next().Bytes);
            int left = at;
            bool isChanged = false;
            while (server.HasToSend)
            {
                (EncryptionLevel level, byte[] bytes) = server.Next();
                if (!isChanged && left < bytes.Length)
                {
                    bytes[left] ^= 1;
                    isChanged = true;
                }

                left -= bytes.Length;
                client.Receive(level, bytes);
            }

            Assert.False(isChanged && client.IsComplete, $"byte {at}: {string.Join(", ", client.Log)}");
            Assert.True(isChanged || client.IsComplete);
        }
    }

    [Theory]
    [InlineData((int)EncryptionLevel.Handshake)]
    [InlineData((int)EncryptionLevel.OneRtt)]
    [Trait("Rfc", "9001-4.1.3")]
    public void A_message_at_a_level_that_has_no_keys_yet_is_refused(int level)
    {
        HandshakeEnd server = ServerOf("localhost");
        server.Receive((EncryptionLevel)level, [1, 0, 0, 0]);
        Assert.Equal(SslConstants.AlertUnexpectedMessage, server.Alert);
    }

    [Fact]
    [Trait("Rfc", "9001-4.1.3")]
    public void A_message_at_a_level_of_before_is_refused()
    {
        (HandshakeEnd client, HandshakeEnd server) = MakePair();
        client.Start();
        server.Start();
        byte[] hello = client.Next().Bytes;
        server.Receive(EncryptionLevel.Initial, hello);
        server.Receive(EncryptionLevel.Initial, hello);
        Assert.Equal(SslConstants.AlertUnexpectedMessage, server.Alert);
    }

    [Fact]
    [Trait("Rfc", "9001-4.1.3")]
    public void A_message_that_follows_a_hello_at_its_level_is_refused()
    {
        (HandshakeEnd client, HandshakeEnd server) = MakePair();
        client.Start();
        server.Start();
        byte[] hello = client.Next().Bytes;
        server.Receive(EncryptionLevel.Initial, [.. hello, .. hello]);
        Assert.Equal(SslConstants.AlertUnexpectedMessage, server.Alert);
    }

    [Theory]
    [InlineData(true, 24)]
    [InlineData(false, 24)]
    [InlineData(true, 4)]
    [InlineData(false, 13)]
    [InlineData(false, 1)]
    [Trait("Rfc", "9001-6")]
    [Trait("Rfc", "9001-4.4")]
    public void After_the_handshake_a_key_update_of_tls_and_all_but_a_servers_tickets_are_refused(bool toServer, byte type)
    {
        (HandshakeEnd client, HandshakeEnd server) = MakePair();
        Run(client, server);
        AssertComplete(client, server);
        HandshakeEnd receiver = toServer ? server : client;
        receiver.Receive(EncryptionLevel.OneRtt, [type, 0, 0, 1, 0]);
        Assert.Equal(SslConstants.AlertUnexpectedMessage, receiver.Alert);
    }

    [Theory]
    [InlineData("expired", CertificateExpired)]
    [InlineData("stranger", UnknownAuthority)]
    [InlineData("other host", BadCertificate)]
    [Trait("Rfc", "9001-4.4")]
    public void A_client_refuses_a_certificate_with_the_alert_that_says_why(string what, int alert)
    {
        (string authority, CertificateFiles leaf) = Pem.MakeSigned("server", "localhost");
        CertificateFiles expired = Pem.Make("expired", DateTimeOffset.UtcNow.AddDays(-1), "localhost");
        (_, CertificateFiles stranger) = Pem.MakeSigned("stranger", "localhost");
        (CertificateFiles served, string trusted) = what switch
        {
            "expired" => (expired, expired.Certificate),
            "stranger" => (stranger, authority),
            _ => (leaf, authority),
        };
        HandshakeEnd client = Connect(Trust(trusted), what == "other host" ? "example.org" : "localhost");
        HandshakeEnd server = Accept(Terminate(Options(served)));
        Run(client, server);
        Assert.Equal(alert, client.Alert);
        Assert.StartsWith("the", client.Reason, StringComparison.Ordinal);
        Assert.Contains("certificate", client.Reason, StringComparison.Ordinal);
        Assert.DoesNotContain((EncryptionLevel.OneRtt, true), client.Levels);
        Assert.False(server.IsComplete);
    }

    [Fact]
    public void A_server_that_requires_a_certificate_refuses_a_client_without_one_and_knows_that_of_another()
    {
        (string authority, CertificateFiles own) = Pem.MakeSigned("client", "client.example");
        (string serverAuthority, CertificateFiles leaf) = Pem.MakeSigned("server", "localhost");
        TlsTerminator terminator = Terminate(Options(leaf) with
        {
            ClientCertificates = ClientCertificates.Required,
            ClientAuthoritiesFile = authority,
        });
        TlsClient trust = Trust(serverAuthority);
        HandshakeEnd without = Connect(trust);
        HandshakeEnd server = Accept(terminator);
        Run(without, server);
        Assert.Equal(CertificateRequired, server.Alert);

        TlsClient withOwn = Trust(serverAuthority);
        ClientContext context = withOwn.Acquire();
        using (CertificateKeyPair pair = own.Load())
        {
            pair.InstallInto(context.Handle, "client");
        }

        context.Release();
        HandshakeEnd client = Connect(withOwn);
        HandshakeEnd second = Accept(terminator);
        Run(client, second);
        AssertComplete(client, second);
        using X509Certificate2 seen = X509CertificateLoader.LoadCertificate(second.Handshake.Session!.ClientCertificate.Span);
        Assert.Equal("CN=client.example", seen.Subject);
    }

    [Fact]
    public void A_terminator_for_tcp_accepts_no_quic()
    {
        TlsTerminator terminator = Terminate(Options(Pem.Make("server", "localhost")) with { ServesQuic = false });
        Assert.Throws<InvalidOperationException>(terminator.AcceptQuic);
    }

    [UnmanagedCallersOnly]
    private static unsafe int SelectAnother(nint ssl, byte** chosen, byte* chosenBytes, byte* offered, uint offeredBytes, void* argument)
    {
        // The client offers hq-interop.
        *chosen = offered + 1 + "hq-".Length;
        *chosenBytes = (byte)"interop".Length;
        return SslConstants.ExtensionOk;
    }

    private static HandMadeHello Hello(bool hasProtocols, bool hasParameters) => new()
    {
        ServerName = [.. "localhost"u8],
        IsTls13 = true,
        Protocols = hasProtocols ? [10, .. "hq-interop"u8] : null,
        TransportParameters = hasParameters ? [1, 2, 3] : null,
    };

    private HandshakeEnd ServerOf(string host)
    {
        HandshakeEnd server = Accept(Terminate(Options(Pem.Make("server", host))));
        server.Start();
        return server;
    }
}
