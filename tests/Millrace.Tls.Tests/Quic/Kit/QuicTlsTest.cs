using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Quic.Protection;
using Millrace.Tls.Certificates;
using Millrace.Tls.Handshakes;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests.Quic.Kit;

/// <summary>Handshakes of QUIC between our client and our server, in memory. After each test nothing of OpenSSL's may be left.</summary>
public abstract class QuicTlsTest : IDisposable
{
    private readonly List<IDisposable> _kept = [];
    private readonly List<TlsTerminator> _terminators = [];
    private readonly List<TlsClient> _clients = [];

    internal static byte[] ClientParameters { get; } = [.. Enumerable.Range(0, 60).Select(static i => (byte)i)];

    internal static byte[] ServerParameters { get; } = [.. Enumerable.Range(0, 90).Select(static i => (byte)(i * 3))];

    internal PemFiles Pem { get; } = new();

    public void Dispose()
    {
        _kept.ForEach(static kept => kept.Dispose());
        Assert.All(_terminators, static terminator => Assert.Equal(0, terminator.Counters.Sessions));
        Assert.All(_clients, static client => Assert.Equal(0, client.Counters.Sessions));
        _terminators.ForEach(static terminator => terminator.Dispose());
        _clients.ForEach(static client => client.Dispose());
        Assert.Equal(0, ServerContext.Live);
        Assert.Equal(0, ClientContext.Live);
        Pem.Dispose();
        GC.SuppressFinalize(this);
    }

    internal static TlsOptions Options(params CertificateFiles[] certificates) => new()
    {
        Certificates = [.. certificates],
        ApplicationProtocols = ["hq-interop"],
        ServesQuic = true,
    };

    internal TlsTerminator Terminate(TlsOptions options)
    {
        var terminator = TlsTerminator.Create(options, NullLoggerFactory.Instance);
        _terminators.Add(terminator);
        return terminator;
    }

    internal TlsClient Trust(string authorities)
    {
        var client = TlsClient.Create(authorities, NullLoggerFactory.Instance, isForQuic: true);
        _clients.Add(client);
        return client;
    }

    internal HandshakeEnd Accept(TlsTerminator terminator, byte[]? parameters = null) =>
        Keep(new HandshakeEnd(terminator.AcceptQuic(), parameters ?? ServerParameters));

    internal HandshakeEnd Connect(TlsClient client, string host = "localhost", params string[] protocols)
    {
        string[] offer = protocols is [] ? ["hq-interop"] : protocols;
        TlsTarget target = client.TargetOf(host, 443);
        return Keep(new HandshakeEnd(
            target.ConnectQuic([.. offer.Select(static name => new ApplicationProtocol(name))]), ClientParameters));
    }

    /// <summary>A server with one certificate and a client that trusts its authority.</summary>
    /// <param name="change">Changes the server's options.</param>
    /// <param name="changeClient">Changes the client's <c>SSL_CTX</c>.</param>
    internal (HandshakeEnd Client, HandshakeEnd Server) MakePair(
        Func<TlsOptions, TlsOptions>? change = null, Action<nint>? changeClient = null)
    {
        (string authority, CertificateFiles leaf) = Pem.MakeSigned("server", "localhost");
        TlsOptions options = Options(leaf);
        TlsClient client = Trust(authority);
        ClientContext context = client.Acquire();
        changeClient?.Invoke(context.Handle);
        context.Release();
        return (Connect(client), Accept(Terminate(change is null ? options : change(options))));
    }

    /// <summary>Runs both ends until neither has anything to send. Messages come in pieces of so many bytes.</summary>
    internal static void Run(HandshakeEnd client, HandshakeEnd server, int pieceLength = int.MaxValue)
    {
        client.Start();
        server.Start();
        Continue(client, server, pieceLength);
    }

    internal static void Continue(HandshakeEnd client, HandshakeEnd server, int pieceLength = int.MaxValue)
    {
        while (client.HasToSend || server.HasToSend)
        {
            Deliver(client, server, pieceLength);
            Deliver(server, client, pieceLength);
        }
    }

    /// <summary>Both ends have all keys, and open what the other seals.</summary>
    internal static void AssertComplete(HandshakeEnd client, HandshakeEnd server)
    {
        Assert.True(client.IsComplete, $"client: {client.Reason} {string.Join(", ", client.Log)}");
        Assert.True(server.IsComplete, $"server: {server.Reason} {string.Join(", ", server.Log)}");
        Assert.Equal(ClientParameters, server.PeerParameters);
        Assert.Equal("hq-interop"u8, client.Handshake.ApplicationProtocol);
        Assert.Equal("hq-interop"u8, server.Handshake.ApplicationProtocol);
        foreach (EncryptionLevel level in (EncryptionLevel[])[EncryptionLevel.Handshake, EncryptionLevel.OneRtt])
        {
            AssertPaired(client.Keys(level, true), server.Keys(level, false));
            AssertPaired(server.Keys(level, true), client.Keys(level, false));
        }
    }

    private protected T Keep<T>(T kept)
        where T : IDisposable
    {
        _kept.Add(kept);
        return kept;
    }

    private static void AssertPaired(PacketProtector sender, PacketProtector receiver)
    {
        byte[] packet = new byte[100];
        sender.Seal(9, [1], packet);
        Assert.True(receiver.TryOpen(9, [1], packet));
        byte[] one = new byte[PacketProtector.MaskLength];
        byte[] other = new byte[PacketProtector.MaskLength];
        sender.GetHeaderMask(new byte[PacketProtector.SampleLength], one);
        receiver.GetHeaderMask(new byte[PacketProtector.SampleLength], other);
        Assert.Equal(one, other);
    }

    /// <summary>Messages of one level arrive together, as they do in CRYPTO frames.</summary>
    private static void Deliver(HandshakeEnd from, HandshakeEnd to, int pieceLength)
    {
        while (from.HasToSend)
        {
            (EncryptionLevel level, byte[] bytes) = from.Next();
            foreach (byte[] piece in bytes.Chunk(Math.Min(pieceLength, bytes.Length)))
            {
                to.Receive(level, piece);
            }
        }
    }
}
