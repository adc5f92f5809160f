using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Quic.Parameters;

namespace Millrace.Quic.Tests.Connections;

/// <summary>What a peer must not send, and the error with which a connection ends for it.</summary>
public sealed class PeerErrorTests
{
    [Theory]
    [Trait("Rfc", "9000-11.1")]
    [Trait("Rfc", "9000-10.2.3")]
    [InlineData("1E", TransportErrorCode.ProtocolViolation, "HANDSHAKE_DONE of a client")]
    [InlineData("070101", TransportErrorCode.ProtocolViolation, "NEW_TOKEN of a client")]
    [InlineData("1F", TransportErrorCode.FrameEncodingError, "an unknown type")]
    [InlineData("4001", TransportErrorCode.ProtocolViolation, "a type that is not in its shortest form")]
    [InlineData("1937", TransportErrorCode.ProtocolViolation, "RETIRE_CONNECTION_ID of an id that was not issued")]
    [InlineData("1900", TransportErrorCode.ProtocolViolation, "RETIRE_CONNECTION_ID of the packet's own id")]
    [InlineData("0280400000000000", TransportErrorCode.ProtocolViolation, "ACK of what was not sent")]
    [InlineData("06804000000101", TransportErrorCode.CryptoBufferExceeded, "CRYPTO far ahead")]
    [InlineData("0E00BFFFFFFF0101", TransportErrorCode.FlowControlError, "STREAM beyond the limit of data")]
    [InlineData("040000BFFFFFFF", TransportErrorCode.FlowControlError, "RESET_STREAM beyond the limit of data")]
    [InlineData("08BFFFFFFC01", TransportErrorCode.StreamLimitError, "STREAM beyond the limit of streams")]
    [InlineData("12D000000000000001", TransportErrorCode.FrameEncodingError, "MAX_STREAMS above 2^60")]
    [InlineData("150301", TransportErrorCode.StreamStateError, "STREAM_DATA_BLOCKED for a side that only sends")]
    [InlineData("0B00010A0B00020A0A", TransportErrorCode.FinalSizeError, "two ends of a stream")]
    internal void A_frame_that_must_not_come_closes_the_connection_with_its_error(string frames, TransportErrorCode code, string why)
    {
        using QuicPair pair = QuicPair.Connected();
        pair.Inject(fromClient: true, PacketKind.OneRtt, Convert.FromHexString(frames));
        pair.Run(100);
        AssertFails(pair.ServerHandler, pair.ClientHandler, code, why);
    }

    [Theory]
    [Trait("Rfc", "9000-5.1.1")]
    [Trait("Rfc", "9000-19.15")]
    [InlineData(100, 0, TransportErrorCode.ConnectionIdLimitError)]
    [InlineData(1, 1, TransportErrorCode.ProtocolViolation)]
    internal void Too_many_ids_and_an_id_that_changes_close_the_connection(int count, int step, TransportErrorCode code)
    {
        using QuicPair pair = QuicPair.Connected();
        for (int i = 0; i < Math.Max(count, 2); i++)
        {
            byte sequence = (byte)(step == 0 ? 0x20 + (i % 0x1F) : 1);
            byte[] id = [(byte)i, 1, 2, 3, 4, 5, 6, 7];
            pair.Inject(fromClient: true, PacketKind.OneRtt, [0x18, sequence, 0, 8, .. id, .. new byte[16]]);
        }

        pair.Run(100);
        Assert.Equal((CloseSource.LocalError, (long)code), (pair.ServerHandler.Reason!.Value.Source, pair.ServerHandler.Reason.Value.Code));
    }

    [Theory]
    [Trait("Rfc", "9000-17.3.1")]
    [InlineData(0x08)]
    [InlineData(0x10)]
    public void Reserved_bits_of_a_short_header_close_the_connection(byte bit)
    {
        using QuicPair pair = QuicPair.Connected();
        pair.Inject(fromClient: true, PacketKind.OneRtt, [1], bit);
        pair.Run(100);
        AssertFails(pair.ServerHandler, pair.ClientHandler, TransportErrorCode.ProtocolViolation, "reserved bits");
    }

    [Theory]
    [Trait("Rfc", "9000-17.2")]
    [InlineData(0x04)]
    [InlineData(0x08)]
    public void Reserved_bits_of_a_long_header_close_the_connection(byte bit)
    {
        using QuicPair pair = new();
        pair.Connect();
        pair.Inject(fromClient: true, PacketKind.Initial, [1], bit, padTo: 1200);
        pair.Run(100);
        AssertFails(pair.ServerHandler, pair.ClientHandler, TransportErrorCode.ProtocolViolation, "reserved bits");
    }

    [Fact]
    [Trait("Rfc", "9000-12.4")]
    public void A_frame_of_streams_in_an_initial_packet_closes_the_connection()
    {
        using QuicPair pair = new();
        pair.Connect();
        pair.Inject(fromClient: true, PacketKind.Initial, [0x08, 0, 1], padTo: 1200);
        pair.Run(100);
        AssertFails(pair.ServerHandler, pair.ClientHandler, TransportErrorCode.ProtocolViolation, "STREAM");
    }

    /// <summary>TLS takes messages of the next level by then.</summary>
    [Theory]
    [Trait("Rfc", "9001-4.1.3")]
    [InlineData(true, 0)]
    [InlineData(true, 1)]
    [InlineData(false, 0)]
    [InlineData(false, 1)]
    public void Handshake_bytes_beyond_the_end_of_an_earlier_level_close_the_connection(bool isClients, int gap)
    {
        List<PacketLog> ends = [];
        using QuicPair pair = new(PacketLog.Into(ends));
        pair.Connect();
        if (!isClients)
        {
            pair.Run(1);
        }

        // A server has the client's hello, or a client all messages of the server's handshake, when this arrives.
        PacketKind kind = isClients ? PacketKind.Initial : PacketKind.Handshake;
        long end = ends.Single(one => one.IsServer != isClients).Sent.Where(packet => packet.Kind == kind).Sum(static packet => CryptoLength(packet.Frames));
        pair.Inject(isClients, kind, Crypto(end + gap), padTo: isClients ? 1200 : 0);
        pair.Run(100);
        PairHandler finder = isClients ? pair.ServerHandler : pair.ClientHandler;
        AssertFails(finder, isClients ? pair.ClientHandler : pair.ServerHandler, TransportErrorCode.ProtocolViolation, "CRYPTO");
    }

    [Fact]
    [Trait("Rfc", "9001-4.1.3")]
    public void Handshake_bytes_that_wait_when_the_next_level_begins_close_the_connection()
    {
        List<PacketLog> ends = [];
        using QuicPair pair = new(PacketLog.Into(ends)) { Drops = static (_, _) => true };
        pair.Connect();
        byte[] hello = [.. pair.Sent[^1].Bytes];
        pair.Drops = static (_, _) => false;
        pair.Inject(fromClient: true, PacketKind.Initial, Crypto(CryptoLength(ends[0].Sent[0].Frames) + 1), padTo: 1200);
        pair.Run(2);
        Assert.Null(pair.ServerHandler.Reason);
        pair.Send(true, hello, QuicPair.ClientAddress, QuicPair.ServerAddress);
        pair.Run(10);
        AssertFails(pair.ServerHandler, pair.ClientHandler, TransportErrorCode.ProtocolViolation, "CRYPTO");
    }

    [Theory]
    [Trait("Rfc", "9000-7.3")]
    [Trait("Rfc", "9000-18.2")]
    [InlineData("no source id", true)]
    [InlineData("another source id", true)]
    [InlineData("a limit of ids of 1", true)]
    [InlineData("another original id", true)]
    [InlineData("a reset token", true)]
    [InlineData("no source id", false)]
    [InlineData("another source id", false)]
    [InlineData("no original id", false)]
    [InlineData("another original id", false)]
    [InlineData("an id of a Retry that was not", false)]
    public void Transport_parameters_that_do_not_fit_the_packets_close_the_connection(string what, bool isClients)
    {
        using QuicPair pair = new();
        pair.ChangeParameters = (fromClient, parameters) =>
        {
            if (fromClient == isClients)
            {
                Change(parameters, what);
            }
        };
        pair.Connect();
        pair.Run(200);
        PairHandler finder = isClients ? pair.ServerHandler : pair.ClientHandler;
        AssertFails(finder, isClients ? pair.ClientHandler : pair.ServerHandler, TransportErrorCode.TransportParameterError, what);
    }

    [Theory]
    [Trait("Rfc", "9000-7.3")]
    [InlineData(false)]
    [InlineData(true)]
    public void After_a_retry_a_server_names_its_id(bool isAnother)
    {
        using QuicPair pair = new(limits: new EndpointLimits { RetryAbove = 0 });
        pair.ChangeParameters = (fromClient, parameters) =>
        {
            if (!fromClient)
            {
                parameters.RetrySourceConnectionId = isAnother ? new ConnectionId([1, 2, 3]) : null;
            }
        };
        pair.Connect();
        pair.Run(200);
        AssertFails(pair.ClientHandler, pair.ServerHandler, TransportErrorCode.TransportParameterError, "retry_source_connection_id");
    }

    [Fact]
    [Trait("Rfc", "9001-6.6")]
    public void Too_many_packets_that_do_not_open_close_the_connection()
    {
        using QuicPair pair = QuicPair.Connected();
        pair.Protectors.IntegrityLimit = 20;
        byte[] genuine = Hold(pair);
        for (int i = 1; i <= 20; i++)
        {
            Assert.Null(pair.ServerHandler.Reason);
            byte[] forged = [.. genuine];
            forged[^1] ^= (byte)i;
            pair.Send(true, forged, QuicPair.ClientAddress, QuicPair.ServerAddress);
            pair.Run(2);
        }

        Assert.Equal((long)TransportErrorCode.AeadLimitReached, pair.ServerHandler.Reason!.Value.Code);
    }

    private static void Change(TransportParameters parameters, string what)
    {
        switch (what)
        {
            case "no source id":
                parameters.InitialSourceConnectionId = null;
                break;
            case "another source id":
                parameters.InitialSourceConnectionId = new ConnectionId([9, 9, 9, 9]);
                break;
            case "a limit of ids of 1":
                parameters.ActiveConnectionIdLimit = 1;
                break;
            case "no original id":
                parameters.OriginalDestinationConnectionId = null;
                break;
            case "another original id":
                parameters.OriginalDestinationConnectionId = new ConnectionId([1, 2, 3, 4, 5, 6, 7, 8]);
                break;
            case "a reset token":
                parameters.StatelessResetToken = new byte[16];
                break;
            default:
                parameters.RetrySourceConnectionId = new ConnectionId([1]);
                break;
        }
    }

    /// <summary>One byte in a CRYPTO frame.</summary>
    private static byte[] Crypto(long offset) => [6, (byte)(0x40 | (offset >> 8)), (byte)offset, 1, 0];

    private static int CryptoLength(string frames) => frames.Split("; ")
        .Where(static frame => frame.StartsWith("crypto ", StringComparison.Ordinal))
        .Sum(static frame => frame.Split(' ')[2].Length / 2);

    /// <summary>A packet of the client that does not arrive.</summary>
    private static byte[] Hold(QuicPair pair)
    {
        pair.Drops = static (_, _) => true;
        pair.Inject(fromClient: true, PacketKind.OneRtt, [1]);
        pair.Drops = static (_, _) => false;
        return pair.Sent[^1].Bytes;
    }

    private static void AssertFails(PairHandler finder, PairHandler peer, TransportErrorCode code, string why)
    {
        Assert.True(finder.Reason is { Source: CloseSource.LocalError, IsApplication: false } own && own.Code == (long)code, $"{why}: {finder.Reason}");
        Assert.True(peer.Reason is { Source: CloseSource.Peer, IsApplication: false } told && told.Code == (long)code, $"{why}: {peer.Reason}");
    }
}
