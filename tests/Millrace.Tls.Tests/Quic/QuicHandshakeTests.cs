using System.Net.Security;
using Millrace.Quic.Protection;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Quic;
using Millrace.Tls.Tests.Kit;
using Millrace.Tls.Tests.Quic.Kit;

namespace Millrace.Tls.Tests.Quic;

public sealed class QuicHandshakeTests : QuicTlsTest
{
    private const uint Version2 = 0x6b3343cf;
    private const ushort SupportedVersions = 43;

    [Theory]
    [InlineData(int.MaxValue)]
    [InlineData(1000)]
    [InlineData(1)]
    [Trait("Rfc", "9001-4")]
    public void Client_and_server_agree_on_all_keys_also_when_messages_come_in_pieces(int pieceLength)
    {
        (HandshakeEnd client, HandshakeEnd server) = MakePair();
        Run(client, server, pieceLength);
        AssertComplete(client, server);
        Assert.Equal(ServerParameters, client.PeerParameters);
        Assert.Equal("localhost", server.Handshake.Session!.ServerName);
        Assert.Equal(0, server.Handshake.MemoryBytes);
    }

    /// <summary>As a connection has them, with all messages of a flight in one piece.</summary>
    [Fact]
    [Trait("Rfc", "9001-4.1.3")]
    public void Messages_of_one_level_that_come_together_are_as_good_as_one_by_one()
    {
        (HandshakeEnd client, HandshakeEnd server) = MakePair();
        client.Start();
        server.Start();
        HandshakeEnd from = client;
        HandshakeEnd to = server;
        while (from.HasToSend || to.HasToSend)
        {
            while (from.HasToSend)
            {
                (EncryptionLevel level, byte[] bytes) = from.Next();
                var together = new List<byte>(bytes);
                while (from.HasToSend && from.PeekLevel == level)
                {
                    together.AddRange(from.Next().Bytes);
                }

                to.Receive(level, together.ToArray());
            }

            (from, to) = (to, from);
        }

        AssertComplete(client, server);
    }

    [Fact]
    [Trait("Rfc", "9001-4.1")]
    public void What_a_server_reports_comes_in_the_order_in_which_a_connection_needs_it()
    {
        (HandshakeEnd client, HandshakeEnd server) = MakePair();
        Run(client, server);

        // ServerHello 2, EncryptedExtensions 8, Certificate 11, CertificateVerify 15, Finished 20, NewSessionTicket 4.
        Assert.Equal(
            [
                "parameters", "send Initial 2", "keys Handshake send", "keys Handshake receive", "send Handshake 8", "send Handshake 11",
                "send Handshake 15", "send Handshake 20", "keys OneRtt send", "keys OneRtt receive", "send OneRtt 4", "send OneRtt 4",
                "complete",
            ],
            server.Log);
    }

    /// <summary>Before OpenSSL 3.2 the keys to send Handshake packets with come late.</summary>
    [Fact]
    [Trait("Rfc", "9001-4.1")]
    public void What_a_client_reports_comes_in_the_order_in_which_a_connection_needs_it()
    {
        (HandshakeEnd client, HandshakeEnd server) = MakePair();
        Run(client, server);

        string[] expected =
        [
            "send Initial 1", "keys Handshake receive", "parameters", "keys OneRtt receive", "send Handshake 20", "keys OneRtt send",
            "complete",
        ];
        Assert.Equal(expected.Order(), client.Log.Where(static line => line != "keys Handshake send").Order());
        Assert.True(client.Log.IndexOf("parameters") < client.Log.IndexOf("keys OneRtt receive"));
        Assert.True(client.Log.IndexOf("keys Handshake send") < client.Log.IndexOf("send Handshake 20"));
        Assert.Equal("complete", client.Log[^1]);
    }

    [Theory]
    [InlineData("TLS_AES_128_GCM_SHA256", TlsCipherSuite.TLS_AES_128_GCM_SHA256)]
    [InlineData("TLS_AES_256_GCM_SHA384", TlsCipherSuite.TLS_AES_256_GCM_SHA384)]
    [InlineData("TLS_CHACHA20_POLY1305_SHA256", TlsCipherSuite.TLS_CHACHA20_POLY1305_SHA256)]
    [Trait("Rfc", "9001-5.3")]
    public void A_client_that_offers_one_cipher_suite_gets_it(string name, TlsCipherSuite expected)
    {
        (HandshakeEnd client, HandshakeEnd server) = MakePair(changeClient: context =>
            Assert.Equal(1, LibSsl.SSL_CTX_set_ciphersuites(context, [.. System.Text.Encoding.ASCII.GetBytes(name), 0])));
        Run(client, server);
        AssertComplete(client, server);
        Assert.Equal(expected, server.Handshake.Parameters!.CipherSuite);
        Assert.Equal(expected, client.Handshake.Parameters!.CipherSuite);
    }

    [Fact]
    [Trait("Rfc", "9001-4.2")]
    public void A_client_offers_tls_1_3_and_no_older_version()
    {
        (HandshakeEnd client, _) = MakePair();
        client.Start();
        Dictionary<ushort, byte[]> extensions = HelloReader.ExtensionsOf(client.Next().Bytes);
        Assert.Equal<byte[]>([2, 3, 4], extensions[SupportedVersions]);
        Assert.Equal(ClientParameters, extensions[(ushort)SslConstants.ExtensionQuicParameters]);
    }

    /// <summary>The client's first key share is of a group that the server does not have.</summary>
    [Theory]
    [InlineData(int.MaxValue)]
    [InlineData(1)]
    [Trait("Rfc", "9001-4.6.2")]
    public void A_client_that_is_asked_for_another_key_share_sends_a_second_hello(int pieceLength)
    {
        (HandshakeEnd client, HandshakeEnd server) = MakePair(changeClient: static context =>
            Assert.Equal(1, LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlGroupsList, 0, "P-521:P-384\0"u8)));
        Run(client, server, pieceLength);
        AssertComplete(client, server);
        Assert.Equal(2, client.Sent.Count(static sent => sent.Level == EncryptionLevel.Initial));
        Assert.Equal(2, server.Sent.Count(static sent => sent.Level == EncryptionLevel.Initial));
        Assert.Equal("secp384r1", server.Handshake.Parameters!.Group);
    }

    [Fact]
    [Trait("Rfc", "9001-4.6.2")]
    public void A_second_hello_with_other_transport_parameters_is_refused()
    {
        (HandshakeEnd client, HandshakeEnd server) = MakePair(changeClient: static context =>
            Assert.Equal(1, LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlGroupsList, 0, "P-521:P-384\0"u8)));
        client.Start();
        server.Start();
        server.Receive(EncryptionLevel.Initial, client.Next().Bytes);
        client.Receive(EncryptionLevel.Initial, server.Next().Bytes);
        byte[] second = client.Next().Bytes;
        second[second.AsSpan().IndexOf(ClientParameters)] ^= 1;
        server.Receive(EncryptionLevel.Initial, second);
        Assert.Equal(SslConstants.AlertIllegalParameter, server.Alert);
    }

    [Fact]
    [Trait("Rfc", "9369-3.3")]
    public void Both_ends_derive_the_keys_of_the_version_that_the_server_chooses()
    {
        (HandshakeEnd client, HandshakeEnd server) = MakePair();
        byte[] chosen = [9, 9, 9];
        server.OnParameters = end =>
        {
            end.Handshake.Version = Version2;
            end.Handshake.SetTransportParameters(chosen);
        };
        client.Start();
        server.Start();
        server.Receive(EncryptionLevel.Initial, client.Next().Bytes);
        client.Handshake.Version = Version2;
        Continue(client, server);
        AssertComplete(client, server);
        Assert.Equal(chosen, client.PeerParameters);
    }

    [Fact]
    [Trait("Rfc", "9369-3.3")]
    public void Ends_with_keys_of_different_versions_do_not_understand_each_other()
    {
        (HandshakeEnd client, HandshakeEnd server) = MakePair();
        client.Handshake.Version = Version2;
        Run(client, server);
        byte[] packet = new byte[100];
        client.Keys(EncryptionLevel.OneRtt, true).Seal(1, [1], packet);
        Assert.False(server.Keys(EncryptionLevel.OneRtt, false).TryOpen(1, [1], packet));
    }

    [Fact]
    public void A_client_gets_the_certificate_of_the_host_that_it_names()
    {
        (string authority, CertificateFiles first) = Pem.MakeSigned("first", "first.example");
        (string other, CertificateFiles second) = Pem.MakeSigned("second", "second.example");
        TlsTerminator terminator = Terminate(Options(first, second));
        File.AppendAllText(authority, File.ReadAllText(other));
        TlsClient trust = Trust(authority);
        foreach (string host in (string[])["first.example", "second.example"])
        {
            HandshakeEnd client = Connect(trust, host);
            HandshakeEnd server = Accept(terminator);
            Run(client, server);
            AssertComplete(client, server);
            Assert.True(((QuicServerHandshake)server.Handshake).CertificateNames!.Covers(System.Text.Encoding.ASCII.GetBytes(host)));
        }
    }

    [Fact]
    [Trait("Rfc", "9001-4.5")]
    public void A_client_resumes_its_session_and_gets_new_tickets()
    {
        (string authority, CertificateFiles leaf) = Pem.MakeSigned("server", "localhost");
        TlsTerminator terminator = Terminate(Options(leaf));
        TlsClient trust = Trust(authority);
        for (int i = 0; i < 4; i++)
        {
            HandshakeEnd client = Connect(trust);
            HandshakeEnd server = Accept(terminator);
            Run(client, server);
            AssertComplete(client, server);
            Assert.Equal(i > 0, server.Handshake.Session!.IsResumed);
            Assert.Equal(i > 0, client.Handshake.Session!.IsResumed);
            client.Dispose();
        }

        Assert.Equal(3, terminator.Counters.HandshakesResumed);
        Assert.InRange(trust.TargetOf("localhost", 443).Sessions.Count, 1, ClientSessions.Most);
    }

    [Fact]
    public void Secrets_are_written_to_the_key_log_as_those_of_tls_over_tcp_are()
    {
        string path = Pem.PathOf("keys");
        (HandshakeEnd client, HandshakeEnd server) = MakePair(options => options with { KeyLogFile = path });
        Run(client, server);
        AssertComplete(client, server);
        string log = File.ReadAllText(path);
        foreach (string label in (string[])["CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET", "CLIENT_TRAFFIC_SECRET_0"])
        {
            Assert.Contains(label + " ", log, StringComparison.Ordinal);
        }
    }

    /// <summary>Each report of a handshake may be the one that ends its connection.</summary>
    [Fact]
    public void A_handshake_may_be_disposed_of_within_any_of_its_reports()
    {
        (HandshakeEnd whole, HandshakeEnd other) = MakePair();
        Run(whole, other);
        for (int end = 0; end < 2; end++)
        {
            int reports = (end == 0 ? whole : other).Log.Count;
            for (int report = 0; report < reports; report++)
            {
                (HandshakeEnd client, HandshakeEnd server) = MakePair();
                int left = report;
                (end == 0 ? client : server).OnReport = disposed =>
                {
                    if (left-- == 0)
                    {
                        disposed.Handshake.Dispose();
                    }
                };
                Run(client, server);
                Assert.Equal(report + 1, (end == 0 ? client : server).Log.Count);
            }
        }
    }

    /// <summary>Two connections of one thread, where the report of one has the other go on at once.</summary>
    [Fact]
    public void A_report_may_have_another_handshake_of_the_thread_go_on()
    {
        (HandshakeEnd client, HandshakeEnd server) = MakePair();
        (HandshakeEnd innerClient, HandshakeEnd innerServer) = MakePair();
        bool isNested = false;
        server.OnParameters = _ =>
        {
            isNested = true;
            Run(innerClient, innerServer);
        };
        Run(client, server, 100);
        Assert.True(isNested);
        AssertComplete(innerClient, innerServer);
        AssertComplete(client, server);
    }

    [Fact]
    public void Handshakes_are_counted_by_their_outcome()
    {
        (string authority, CertificateFiles leaf) = Pem.MakeSigned("server", "localhost");
        TlsTerminator terminator = Terminate(Options(leaf));
        TlsClient trust = Trust(authority);
        HandshakeEnd client = Connect(trust);
        Run(client, Accept(terminator));
        Run(Connect(trust, "localhost", "h3"), Accept(terminator));
        HandshakeEnd abandoned = Connect(trust);
        HandshakeEnd server = Accept(terminator);
        abandoned.Start();
        server.Start();
        server.Receive(EncryptionLevel.Initial, abandoned.Next().Bytes);
        server.Dispose();
        Accept(terminator).Dispose();

        Assert.Equal((1, 2), (terminator.Counters.HandshakesDone, terminator.Counters.HandshakesFailed));
    }
}
