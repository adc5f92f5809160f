using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Quic.Protection;
using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Connections;

/// <summary>
/// Which keys protect which packets over updates of keys, and what a packet costs before it is known to be authentic: the same whatever its
/// header says, so that times show nothing of it.
/// </summary>
public sealed class KeyUpdateTests
{
    private const int ConnectionIdLength = 8;
    private const byte KeyPhaseBit = 0x04;

    private readonly List<PacketLog> _ends = [];
    private readonly byte[] _buffer = new byte[64 * 1024];

    private PacketLog Server => _ends.Single(static end => end.IsServer);

    /// <summary>The test opens what the client sends, with the keys of all generations, which follow from the first ones.</summary>
    [Fact]
    [Trait("Rfc", "9001-6.4")]
    public void Higher_packet_numbers_have_the_same_or_newer_keys()
    {
        using QuicPair pair = QuicPair.Connected();
        pair.ServerHandler.Echoes = true;
        List<byte[]> datagrams = [];
        pair.Drops = (fromClient, bytes) =>
        {
            if (fromClient)
            {
                datagrams.Add([.. bytes]);
            }

            // What is lost is sent again, with the keys of that time.
            return datagrams.Count % 7 == 0;
        };
        List<PacketProtector> generations = [((PlainProtector)pair.ServerConnection!.Keys.Header).Update()];
        for (int i = 0; i < 6; i++)
        {
            QuicConnection updater = i % 2 == 0 ? pair.ClientConnection! : pair.ServerConnection;
            Assert.True(updater.TryUpdateKeys(), $"update {i}");
            Write(pair, 20_000);
            pair.Run(2_000);
            Write(pair, 10);
            pair.Run(2_000);
            generations.Add(generations[^1].Update());
        }

        List<(long Number, int Generation)> sent = [];
        foreach (byte[] datagram in datagrams)
        {
            sent.Add(Open(datagram, generations, sent is [] ? 0 : sent[^1].Number));
        }

        Assert.Equal(sent.Select(static packet => packet.Number).Order(), sent.Select(static packet => packet.Number));
        Assert.Equal(sent.Count, sent.Select(static packet => packet.Number).Distinct().Count());
        Assert.Equal([0, 1, 2, 3, 4, 5], sent.Select(static packet => packet.Generation).Distinct());
        Assert.Equal(sent.Select(static packet => packet.Generation).Order(), sent.Select(static packet => packet.Generation));
    }

    [Fact]
    [Trait("Rfc", "9001-5.5")]
    public void A_forged_packet_that_seems_to_update_keys_is_dropped_and_data_goes_on()
    {
        using QuicPair pair = QuicPair.Connected();
        byte[] forged = Hold(pair);
        forged[0] ^= KeyPhaseBit;
        long refused = pair.Protectors.Refused;
        pair.Send(true, forged, QuicPair.ClientAddress, QuicPair.ServerAddress);
        int sent = pair.Sent.Count;
        pair.Run(5);
        Assert.Equal(refused + 1, pair.Protectors.Refused);
        Assert.Equal((0, false), (pair.ServerConnection!.Keys.Updates, pair.ServerConnection.Keys.Phase));
        Assert.Equal(sent, pair.Sent.Count);
        Write(pair, 100);
        pair.Run(1_000);
        Assert.Equal(100, pair.ServerHandler.Received.Count);
        Assert.Null(pair.ServerHandler.Reason);
        Assert.Equal(0, pair.ClientConnection!.Keys.Updates);
    }

    /// <summary>Before the first update, while there are previous keys, and when these are discarded.</summary>
    [Fact]
    [Trait("Rfc", "9001-6.3")]
    [Trait("Rfc", "9001-9.5")]
    public void A_packet_costs_one_mask_and_one_attempt_with_keys_that_exist_whatever_its_bits_say()
    {
        using QuicPair pair = QuicPair.Connected(PacketLog.Into(_ends));
        pair.Run(5_000);
        byte[] old = Hold(pair);
        AssertAllCostTheSame(pair, Hold(pair));

        pair.Run(5_000);
        Assert.True(pair.ClientConnection!.TryUpdateKeys());
        Write(pair, 10);
        pair.Run(3);
        Assert.Equal(1, pair.ServerConnection!.Keys.Updates);
        Assert.NotEqual(QuicClock.Never, pair.ServerConnection.Keys.NextTimeout);
        AssertAllCostTheSame(pair, Hold(pair));

        pair.Run(5_000);
        Assert.Equal(QuicClock.Never, pair.ServerConnection.Keys.NextTimeout);
        AssertAllCostTheSame(pair, Hold(pair));
        AssertCost(pair, old, isAuthentic: false);
    }

    [Fact]
    [Trait("Rfc", "9001-6.4")]
    public void Newer_keys_at_a_lower_number_are_an_error_though_the_keys_of_then_are_discarded()
    {
        using KeyPhases keys = new(long.MaxValue);
        keys.InstallSending(new PlainProtector(1));
        keys.InstallReceiving(new PlainProtector(2));
        Assert.True(keys.TryAccept(KeyGeneration.Next, 8, QuicClock.Second, 0));
        keys.OnSending(3);
        keys.OnTimeout(3 * QuicClock.Second);
        KeyGeneration generation = keys.Choose(phase: false, 7);
        Assert.Equal(KeyGeneration.Discarded, generation);
        Assert.Same(keys.Receiving(KeyGeneration.Next), keys.Receiving(generation));
        Assert.False(keys.TryAccept(generation, 7, QuicClock.Second, 0));
        Assert.Equal(1, keys.Updates);
    }

    /// <summary>Packets overtake each other.</summary>
    [Fact]
    [Trait("Rfc", "9001-6.3")]
    public void The_first_packets_that_arrive_may_have_the_next_keys()
    {
        using KeyPhases keys = Installed();
        Assert.Equal(KeyGeneration.Next, keys.Choose(phase: true, 3));
        Assert.True(keys.TryAccept(KeyGeneration.Current, 5, QuicClock.Second, 0));
        Assert.Equal(KeyGeneration.Next, keys.Choose(phase: true, 4));
    }

    [Fact]
    [Trait("Rfc", "9001-6.5")]
    public void Previous_keys_open_packets_for_three_probe_timeouts_after_the_peers_update()
    {
        using KeyPhases keys = Installed();
        Assert.True(keys.TryAccept(KeyGeneration.Next, 8, QuicClock.Second, 10 * QuicClock.Second));
        Assert.Equal(13 * QuicClock.Second, keys.NextTimeout);
        keys.OnTimeout((13 * QuicClock.Second) - 1);
        Assert.Equal(KeyGeneration.Previous, keys.Choose(phase: false, 7));
        keys.OnTimeout(13 * QuicClock.Second);
        Assert.Equal(KeyGeneration.Discarded, keys.Choose(phase: false, 7));
        Assert.Equal(QuicClock.Never, keys.NextTimeout);
    }

    [Fact]
    [Trait("Rfc", "9001-6.3")]
    [Trait("Rfc", "9001-6.5")]
    public void Previous_keys_of_an_own_update_end_three_probe_timeouts_after_the_peer_has_followed()
    {
        using KeyPhases keys = Installed();
        Assert.True(keys.TryAccept(KeyGeneration.Current, 20, QuicClock.Second, 0));
        Update(keys, 4);

        // What the peer sends before it follows has any number.
        Assert.Equal(KeyGeneration.Previous, keys.Choose(phase: false, 30));
        Assert.True(keys.TryAccept(KeyGeneration.Previous, 30, QuicClock.Second, QuicClock.Second));
        Assert.Equal(QuicClock.Never, keys.NextTimeout);

        Assert.True(keys.TryAccept(KeyGeneration.Current, 40, QuicClock.Second, 5 * QuicClock.Second));
        Assert.Equal(8 * QuicClock.Second, keys.NextTimeout);
        Assert.Equal(KeyGeneration.Previous, keys.Choose(phase: false, 39));
        Assert.Equal(KeyGeneration.Next, keys.Choose(phase: false, 41));

        // One that was overtaken, and does not extend the time.
        Assert.True(keys.TryAccept(KeyGeneration.Current, 35, QuicClock.Second, 6 * QuicClock.Second));
        Assert.Equal(8 * QuicClock.Second, keys.NextTimeout);
        Assert.Equal(KeyGeneration.Next, keys.Choose(phase: false, 36));
    }

    [Fact]
    [Trait("Rfc", "9001-6.5")]
    public void The_next_own_update_waits_until_the_previous_keys_are_discarded()
    {
        using KeyPhases keys = Installed();
        Update(keys, 4);
        keys.OnSending(5);
        keys.OnAcknowledged(5);
        Assert.False(keys.TryUpdate(isHandshakeConfirmed: true));
        Assert.True(keys.TryAccept(KeyGeneration.Current, 1, QuicClock.Second, 0));
        keys.OnTimeout(3 * QuicClock.Second);
        Assert.True(keys.TryUpdate(isHandshakeConfirmed: true));
    }

    [Fact]
    [Trait("Rfc", "9001-6.1")]
    public void Only_the_acknowledgement_of_a_packet_of_the_current_keys_allows_an_update()
    {
        using KeyPhases keys = Installed();
        keys.OnAcknowledged(9);
        keys.OnSending(4);
        keys.OnAcknowledged(3);
        Assert.False(keys.TryUpdate(isHandshakeConfirmed: true));
        keys.OnAcknowledged(4);
        Assert.True(keys.TryUpdate(isHandshakeConfirmed: true));
    }

    [Fact]
    [Trait("Rfc", "9001-6.6")]
    public void Keys_are_updated_after_half_of_the_packets_that_they_may_protect()
    {
        using KeyPhases keys = Installed(new ProtectorCounts { ConfidentialityLimit = 100 });
        for (int i = 0; i < 50; i++)
        {
            Assert.False(keys.UpdateIfDue(isHandshakeConfirmed: true));
            keys.OnSending(i);
            keys.OnAcknowledged(i);
        }

        Assert.False(keys.UpdateIfDue(isHandshakeConfirmed: false));
        Assert.True(keys.UpdateIfDue(isHandshakeConfirmed: true));
        Assert.Equal((1, true), (keys.Updates, keys.Phase));
    }

    private static KeyPhases Installed(ProtectorCounts? counts = null)
    {
        KeyPhases keys = new(long.MaxValue);
        keys.InstallSending(counts is null ? new PlainProtector(1) : new PlainProtector(1, counts));
        keys.InstallReceiving(new PlainProtector(2));
        return keys;
    }

    private static void Update(KeyPhases keys, long sent)
    {
        keys.OnSending(sent);
        keys.OnAcknowledged(sent);
        Assert.True(keys.TryUpdate(isHandshakeConfirmed: true));
    }

    /// <summary>Each protected bit of the header changed, then the packet itself, then the same again.</summary>
    private void AssertAllCostTheSame(QuicPair pair, byte[] genuine)
    {
        for (int bit = 0; bit < 8 * PacketNumbers.MaximumLength; bit++)
        {
            byte[] forged = [.. genuine];
            forged[1 + ConnectionIdLength + (bit / 8)] ^= (byte)(1 << (bit % 8));
            AssertCost(pair, forged, isAuthentic: false);
        }

        for (int bit = 0; bit < 6; bit++)
        {
            byte[] forged = [.. genuine];
            forged[0] ^= (byte)(1 << bit);
            AssertCost(pair, forged, isAuthentic: false);
        }

        int received = Server.Received.Count;
        AssertCost(pair, [.. genuine], isAuthentic: true);
        AssertCost(pair, [.. genuine], isAuthentic: true);
        Assert.Equal(received + 1, Server.Received.Count);
    }

    private void AssertCost(QuicPair pair, byte[] bytes, bool isAuthentic)
    {
        ProtectorCounts counts = pair.Protectors;
        (long masks, long opened, long refused) = (counts.Masks, counts.Opened, counts.Refused);
        (long derived, long live, long unprepared) = (counts.Derived, counts.Live, counts.OpenedUnprepared);
        Assert.Same(pair.ServerConnection, pair.Server.Receive(
            bytes, QuicPair.ClientAddress, QuicPair.ServerAddress, EcnMark.NotEct, _buffer, out int replyLength, pair.Now));
        Assert.Equal(
            (1, isAuthentic ? 1 : 0, isAuthentic ? 0 : 1),
            (counts.Masks - masks, counts.Opened - opened, counts.Refused - refused));
        Assert.Equal((derived, live, unprepared), (counts.Derived, counts.Live, counts.OpenedUnprepared));
        Assert.Equal(0, replyLength);
        Assert.Null(pair.ServerHandler.Reason);
        if (!isAuthentic)
        {
            Assert.Equal(0, pair.ServerConnection!.Send(_buffer, 1, out _, pair.Now));
        }
    }

    private static (long Number, int Generation) Open(byte[] datagram, List<PacketProtector> generations, long largest)
    {
        for (int i = 0; i < generations.Count; i++)
        {
            byte[] bytes = [.. datagram];
            Assert.True(PacketHeader.TryParse(bytes, ConnectionIdLength, out PacketHeader header));
            Assert.Equal(PacketKind.OneRtt, header.Kind);
            Assert.True(PacketOpener.TryUnprotect(bytes, header, generations[i], largest, out PacketOpener opener));
            if (opener.TryOpen(generations[i], out _))
            {
                return (opener.Number, i);
            }
        }

        Assert.Fail("No keys open the packet.");
        return default;
    }

    /// <summary>A packet of the client that does not arrive.</summary>
    private static byte[] Hold(QuicPair pair)
    {
        pair.Drops = static (_, _) => true;
        pair.Inject(fromClient: true, PacketKind.OneRtt, [1]);
        pair.Drops = static (_, _) => false;
        return [.. pair.Sent[^1].Bytes];
    }

    private static void Write(QuicPair pair, int count)
    {
        Assert.True(pair.ClientConnection!.Streams.TryOpen(isBidirectional: true, out QuicStream? stream));
        stream!.Write(new byte[count]);
        stream.Finish();
    }
}
