using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Quic.Parameters;
using Millrace.Quic.Recovery;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Connections;

/// <summary>Connection ids of both ends, as packets have them (RFC 9000, sections 5.1 and 9.6).</summary>
public sealed class IssuedIdTests
{
    private readonly List<PacketLog> _ends = [];

    [Theory]
    [Trait("Rfc", "9000-5.1")]
    [InlineData(1)]
    [InlineData(4)]
    [InlineData(256)]
    public void Ids_of_an_endpoint_all_differ(int endpoints)
    {
        TestCryptography cryptography = new(7);
        ConnectionIdRule rule = new(endpoints, endpoints - 1, new ConnectionIdCipher(KeyOf(1)));
        HashSet<ConnectionId> seen = [];
        for (int i = 0; i < 1_000; i++)
        {
            Assert.True(seen.Add(EndpointTable.CreateRandom(cryptography, rule)));
        }
    }

    [Fact]
    [Trait("Rfc", "9000-5.1.1")]
    public void Packets_to_each_issued_id_are_taken_until_the_peer_retires_it()
    {
        using QuicPair pair = new(PacketLog.Into(_ends));
        pair.Connect();
        pair.Run(1_000);
        for (int sequence = 0; sequence < PeerConnectionIds.Limit; sequence++)
        {
            Assert.True(Arrives(pair, sequence));
        }

        // RETIRE_CONNECTION_ID, to another id. The new one for it does not arrive: this client has not forgotten what it retires.
        pair.Drops = static (fromClient, _) => !fromClient;
        pair.ClientConnection!.Paths.Active.PeerIdSequence = 0;
        pair.Inject(fromClient: true, PacketKind.OneRtt, [0x19, 1]);
        pair.Run(5);
        Assert.True(Arrives(pair, 0));
        Assert.True(Arrives(pair, 2));
        Assert.False(Arrives(pair, 1));
    }

    [Fact]
    [Trait("Rfc", "9000-5.1.2")]
    [Trait("Rfc", "9000-9.6")]
    public void A_client_stays_where_the_server_is_but_knows_the_id_of_its_preferred_address()
    {
        using QuicPair pair = new();
        ConnectionId preferred = new([7, 7, 7, 7, 7, 7, 7, 7]);
        pair.ChangeParameters = (fromClient, parameters) => parameters.PreferredAddress = fromClient
            ? null
            : new PreferredAddress([10, 0, 0, 9, 1, 187], new byte[18], preferred, new byte[16]);
        pair.Connect();
        pair.Run(2);
        QuicConnection client = pair.ClientConnection!;
        Assert.NotNull(client.Handshake.PeerParameters!.PreferredAddress);
        Assert.Equal(QuicPair.ServerAddress, client.Paths.Active.Remote);
        Assert.True(client.PeerIds.TryGet(1, out ConnectionId id));
        Assert.Equal(preferred, id);

        // The server has the ids before the third retired.
        Assert.Equal(PeerIdResult.Accepted, client.PeerIds.OnNewConnectionId(2, 2, new ConnectionId([8, 8, 8, 8]), 5));
        List<long> retired = [];
        while (client.PeerIds.TryTakePending(out long sequence))
        {
            retired.Add(sequence);
        }

        Assert.Equal([0, 1], retired.Order());
    }

    private static uint[] KeyOf(int seed)
    {
        Random random = new(seed);
        return [.. Enumerable.Range(0, ConnectionIdCipher.KeyWords).Select(_ => (uint)random.NextInt64(1L << 32))];
    }

    private bool Arrives(QuicPair pair, long sequence)
    {
        QuicConnection client = pair.ClientConnection!;
        client.Paths.Active.PeerIdSequence = sequence;
        long number = client.Recovery[PacketSpace.Application].NextNumber;
        pair.Inject(fromClient: true, PacketKind.OneRtt, [1]);
        pair.Run(5);
        return _ends.Single(static end => end.IsServer).Received.Exists(packet => packet.Kind == PacketKind.OneRtt && packet.Number == number);
    }
}
