using Millrace.Quic.Protection;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Kit;

/// <summary>The doubles of cryptography and of TLS that other tests rely on.</summary>
public class TestDoubleTests
{
    [Fact]
    public void A_sealed_payload_opens_only_with_its_key_number_and_header_unchanged()
    {
        byte[] header = [1, 2, 3];
        byte[] payload = [.. Enumerable.Range(0, 45).Select(i => (byte)i)];
        byte[] packet = [.. payload, .. new byte[PacketProtector.TagLength]];
        new PlainProtector(7).Seal(5, header, packet);

        Assert.False(new PlainProtector(8).TryOpen(5, header, [.. packet]));
        Assert.False(new PlainProtector(7).TryOpen(6, header, [.. packet]));
        Assert.False(new PlainProtector(7).TryOpen(5, [1, 2, 4], [.. packet]));
        Assert.False(new PlainProtector(7).Update().TryOpen(5, header, [.. packet]));
        for (int i = 0; i < packet.Length; i++)
        {
            byte[] changed = [.. packet];
            changed[i] ^= 1;
            Assert.False(new PlainProtector(7).TryOpen(5, header, changed));
        }

        Assert.True(new PlainProtector(7).TryOpen(5, header, packet));
        Assert.Equal(payload, packet[..payload.Length]);
    }

    [Fact]
    public void A_packet_number_sealed_twice_throws()
    {
        var protector = new PlainProtector(7);
        protector.Seal(5, [1], new byte[20]);

        Assert.Throws<InvalidOperationException>(() => protector.Seal(5, [1], new byte[20]));
    }

    [Fact]
    public void A_token_opens_with_the_same_secret_and_the_same_associated_bytes()
    {
        var token = new byte[100];
        var text = new byte[100];
        int length = new TestCryptography(1).SealToken([9, 8, 7], [1, 2], token);

        Assert.Equal(3 + QuicCryptography.MaximumTokenOverhead, length);
        Assert.True(new TestCryptography(2).TryOpenToken(token.AsSpan(0, length), [1, 2], text, out int count));
        Assert.Equal([9, 8, 7], text[..count]);
        Assert.False(new TestCryptography(2).TryOpenToken(token.AsSpan(0, length), [1, 3], text, out _));
        Assert.False(new TestCryptography(2, secret: 2).TryOpenToken(token.AsSpan(0, length), [1, 2], text, out _));
    }

    [Theory]
    [InlineData(1, false)]
    [InlineData(100, true)]
    [InlineData(10_000, false)]
    [InlineData(10_000, true)]
    public void A_handshake_ends_with_the_same_keys_at_both_ends(int pieceLength, bool isLate)
    {
        var client = new HandshakeEnd(new TestHandshake(new() { Seed = 1, InstallsSendingKeysLate = isLate }, isServer: false), [1, 2, 3]);
        var server = new HandshakeEnd(new TestHandshake(new() { Seed = 2 }, isServer: true), [4, 5]);
        HandshakeEnd.Run(client, server, pieceLength);

        Assert.True(client.IsComplete && server.IsComplete);
        Assert.Equal([4, 5], client.PeerParameters);
        Assert.Equal([1, 2, 3], server.PeerParameters);
        Assert.Equal("h3"u8, client.Handshake.ApplicationProtocol);
        Assert.Equal("h3"u8, server.Handshake.ApplicationProtocol);
        Assert.Equal(1, client.Handshake.Tickets);
        Assert.Equal(["Handshake receive", "Handshake send", "OneRtt receive", "OneRtt send"], client.Keys.Keys.Order());
        foreach ((string name, PacketProtector keys) in client.Keys)
        {
            byte[] packet = new byte[20];
            string other = name.EndsWith("send", StringComparison.Ordinal) ? name.Replace("send", "receive") : name.Replace("receive", "send");
            server.Keys[other].Seal(0, [1], packet);
            Assert.True(keys.TryOpen(0, [1], packet));
        }
    }

    [Fact]
    public void A_handshake_fails_on_another_protocol_on_missing_parameters_and_on_changed_bytes()
    {
        Assert.Equal(TestHandshake.NoApplicationProtocol, AlertOfServer(new() { Seed = 1, Protocol = "h2" }, [1], changed: -1));
        Assert.Equal(TestHandshake.MissingExtension, AlertOfServer(new() { Seed = 1 }, [], changed: -1));
        Assert.Equal(TestHandshake.UnexpectedMessage, AlertOfServer(new() { Seed = 1 }, [1], changed: 0));
        Assert.Equal(40, AlertOfServer(new() { Seed = 1 }, [1], changed: -1, failWith: 40));

        var client = new HandshakeEnd(new TestHandshake(new() { Seed = 1 }, isServer: false), [1]);
        var server = new HandshakeEnd(new TestHandshake(new() { Seed = 2 }, isServer: true), [2]);
        HandshakeEnd.Run(client, server, 1000, changedByte: 100);
        Assert.Equal(TestHandshake.DecryptError, client.Alert);
    }

    private static int AlertOfServer(TestHandshakeOptions options, byte[] parameters, int changed, byte failWith = 0)
    {
        var client = new HandshakeEnd(new TestHandshake(options, isServer: false), parameters);
        var server = new HandshakeEnd(new TestHandshake(new() { Seed = 2, FailWith = failWith }, isServer: true), [2]);
        HandshakeEnd.Run(client, server, 1000, changed);
        return server.Alert;
    }

    private sealed class HandshakeEnd(TestHandshake handshake, byte[] parameters) : IHandshakeSink
    {
        private readonly Queue<(EncryptionLevel Level, byte[] Bytes)> _sent = [];

        public TestHandshake Handshake => handshake;

        public Dictionary<string, PacketProtector> Keys { get; } = [];

        public byte[] PeerParameters { get; private set; } = [];

        public bool IsComplete { get; private set; }

        public int Alert { get; private set; }

        public static void Run(HandshakeEnd client, HandshakeEnd server, int pieceLength, int changedByte = -1)
        {
            client.Start();
            server.Start();
            if (changedByte >= 0)
            {
                client._sent.Peek().Bytes[changedByte] ^= 0x80;
            }

            while (client._sent.Count + server._sent.Count > 0)
            {
                client.DeliverTo(server, pieceLength);
                server.DeliverTo(client, pieceLength);
            }
        }

        public void SendHandshake(EncryptionLevel level, ReadOnlySpan<byte> bytes) => _sent.Enqueue((level, bytes.ToArray()));

        public void InstallKeys(EncryptionLevel level, bool isForSending, PacketProtector protector)
            => Keys.Add($"{level} {(isForSending ? "send" : "receive")}", protector);

        public void ReceiveTransportParameters(ReadOnlySpan<byte> encoded) => PeerParameters = encoded.ToArray();

        public void CompleteHandshake() => IsComplete = true;

        public void FailHandshake(byte alert, string reason) => Alert = alert;

        private void Start() => handshake.Start(parameters, this);

        private void DeliverTo(HandshakeEnd peer, int pieceLength)
        {
            while (_sent.TryDequeue(out var message))
            {
                foreach (byte[] piece in message.Bytes.Chunk(pieceLength))
                {
                    peer.Handshake.Receive(message.Level, piece, peer);
                }
            }
        }
    }
}
