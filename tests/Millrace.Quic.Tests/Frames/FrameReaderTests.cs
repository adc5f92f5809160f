using Millrace.Quic.Frames;
using Millrace.Quic.Packets;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Frames;

public class FrameReaderTests
{
    /// <summary>Table 3 of section 12.4: I, H, 0, 1.</summary>
    private static readonly Dictionary<FrameType, string> Packets = new()
    {
        [FrameType.Padding] = "IH01",
        [FrameType.Ping] = "IH01",
        [FrameType.Ack] = "IH1",
        [FrameType.ResetStream] = "01",
        [FrameType.StopSending] = "01",
        [FrameType.Crypto] = "IH1",
        [FrameType.NewToken] = "1",
        [FrameType.Stream] = "01",
        [FrameType.MaxData] = "01",
        [FrameType.MaxStreamData] = "01",
        [FrameType.MaxStreamsBidirectional] = "01",
        [FrameType.MaxStreamsUnidirectional] = "01",
        [FrameType.DataBlocked] = "01",
        [FrameType.StreamDataBlocked] = "01",
        [FrameType.StreamsBlockedBidirectional] = "01",
        [FrameType.StreamsBlockedUnidirectional] = "01",
        [FrameType.NewConnectionId] = "01",
        [FrameType.RetireConnectionId] = "1",
        [FrameType.PathChallenge] = "01",
        [FrameType.PathResponse] = "1",
        [FrameType.ConnectionClose] = "IH01",
        [FrameType.ConnectionCloseApplication] = "01",
        [FrameType.HandshakeDone] = "1",
    };

    [Fact]
    [Trait("Rfc", "9000-19")]
    public void Each_frame_is_read_as_it_was_written()
    {
        foreach ((string text, FrameSamples.Writing write) in FrameSamples.All)
        {
            Assert.Equal(text, FrameText.Of(FrameSamples.Bytes(write)));
        }

        byte[] all = [.. FrameSamples.All.SelectMany(sample => FrameSamples.Bytes(sample.Write))];
        Assert.Equal(string.Join("; ", FrameSamples.All.Select(sample => sample.Text)), FrameText.Of(all));
    }

    [Fact]
    [Trait("Rfc", "9000-12.4")]
    public void A_frame_that_is_cut_off_is_an_encoding_error_of_its_type()
    {
        foreach ((string _, FrameSamples.Writing write) in FrameSamples.All)
        {
            byte[] frame = FrameSamples.Bytes(write);
            for (int length = 1; length < frame.Length && frame[0] != 0; length++)
            {
                Assert.Equal($"FrameEncodingError of {frame[0]:x2}", FrameText.Of(frame.AsSpan(0, length)));
            }
        }
    }

    [Fact]
    [Trait("Rfc", "9000-12.4")]
    [Trait("Rfc", "9000-12.5")]
    public void A_frame_in_a_packet_that_may_not_have_it_is_a_protocol_violation()
    {
        (PacketKind Kind, char Letter)[] kinds =
            [(PacketKind.Initial, 'I'), (PacketKind.Handshake, 'H'), (PacketKind.ZeroRtt, '0'), (PacketKind.OneRtt, '1')];
        foreach ((string text, FrameSamples.Writing write) in FrameSamples.All)
        {
            byte[] frame = FrameSamples.Bytes(write);
            FrameType type = frame[0] is >= 8 and <= 15 ? FrameType.Stream : frame[0] == 3 ? FrameType.Ack : (FrameType)frame[0];
            foreach ((PacketKind kind, char letter) in kinds)
            {
                string expected = Packets[type].Contains(letter) ? text : $"ProtocolViolation of {frame[0]:x2}";
                Assert.Equal(expected, FrameText.Of(frame, kind));
            }
        }
    }

    [Fact]
    [Trait("Rfc", "9000-19.7")]
    [Trait("Rfc", "9000-19.20")]
    public void A_client_may_not_send_tokens_or_confirm_the_handshake()
    {
        Assert.Equal("ProtocolViolation of 07", FrameText.Of([7, 1, 1], isServer: true));
        Assert.Equal("ProtocolViolation of 1e", FrameText.Of([0x1E], isServer: true));
        Assert.Equal("Ping", FrameText.Of([1], isServer: true));
    }

    [Fact]
    [Trait("Rfc", "9000-12.4")]
    public void A_packet_without_frames_is_a_protocol_violation()
        => Assert.Equal("ProtocolViolation of 00", FrameText.Of([]));

    [Theory]
    [Trait("Rfc", "9000-12.4")]
    [InlineData("1F", "FrameEncodingError of 1f")]
    [InlineData("30", "FrameEncodingError of 30")]
    [InlineData("7FFF", "FrameEncodingError of 3fff")]
    [InlineData("FFFFFFFFFFFFFFFF", "FrameEncodingError of 3fffffffffffffff")]
    [InlineData("40", "FrameEncodingError of 00")]
    [InlineData("4001", "ProtocolViolation of 01")]
    [InlineData("80000001", "ProtocolViolation of 01")]
    [InlineData("01014001", "Ping; Ping; ProtocolViolation of 01")]
    public void A_type_that_is_unknown_or_not_in_its_shortest_form_is_an_error(string payload, string text)
        => Assert.Equal(text, FrameText.Of(Convert.FromHexString(payload)));

    [Theory]
    [Trait("Rfc", "9000-19.3.1")]
    [InlineData("0205000006", "the first range begins below 0")]
    [InlineData("020500010400", "no room for a gap")]
    [InlineData("02050001040000", "a gap to -1")]
    [InlineData("02050001030001", "a range below 0")]
    [InlineData("020A0001000009", "the second range begins below 0")]
    [InlineData("020AFFFFFFFF0000", "more ranges than bytes")]
    [InlineData("02FFFFFFFFFFFFFFFF00FFFFFFFFFFFFFFFF00", "2^62 ranges")]
    public void Ranges_that_go_below_0_or_are_not_there_are_encoding_errors(string payload, string why)
        => Assert.True(FrameText.Of(Convert.FromHexString(payload)) == "FrameEncodingError of 02", why);

    [Theory]
    [Trait("Rfc", "9000-19.3.1")]
    [InlineData("0205000005", "ack 0-5 delay 0")]
    [InlineData("020500010300" + "00", "ack 2-5,0-0 delay 0")]
    [InlineData("020500010200" + "00", "ack 3-5,1-1 delay 0")]
    [InlineData("020500010200" + "01", "ack 3-5,0-1 delay 0")]
    [InlineData("020500010100" + "0001", "ack 4-5,2-2 delay 0; Ping")]
    public void Ranges_down_to_0_are_read(string payload, string text)
        => Assert.Equal(text, FrameText.Of(Convert.FromHexString(payload)));

    [Theory]
    [InlineData("0704", "FrameEncodingError of 07", "19.7: the token is cut off")]
    [InlineData("0700", "FrameEncodingError of 07", "19.7: the token is empty")]
    [InlineData("06FFFFFFFFFFFFFFFF01AA", "FrameEncodingError of 06", "19.6: beyond 2^62-1")]
    [InlineData("0E00FFFFFFFFFFFFFFFF01AA", "FrameEncodingError of 0e", "19.8: beyond 2^62-1")]
    [InlineData("0C00FFFFFFFFFFFFFFFFAA", "FrameEncodingError of 0c", "19.8: beyond 2^62-1, without a length")]
    [InlineData("0C00FFFFFFFFFFFFFFFF", "stream 0 at 4611686018427387903 ", "19.8: at 2^62-1")]
    [InlineData("08040102", "stream 4 at 0 0102", "19.8: to the end of the packet")]
    [InlineData("0904", "stream 4 at 0  fin", "19.8: to the end of the packet, empty")]
    [InlineData("12D000000000000001", "FrameEncodingError of 12", "19.11: above 2^60")]
    [InlineData("13D000000000000001", "FrameEncodingError of 13", "19.11: above 2^60")]
    [InlineData("16D000000000000001", "FrameEncodingError of 16", "19.14: above 2^60")]
    [InlineData("17D000000000000001", "FrameEncodingError of 17", "19.14: above 2^60")]
    [InlineData("18000000" + "00112233445566778899AABBCCDDEEFF", "FrameEncodingError of 18", "19.15: an id of 0 bytes")]
    [InlineData("18000015" + "000000000000000000000000000000000000000000" + "00112233445566778899AABBCCDDEEFF", "FrameEncodingError of 18",
        "19.15: an id of 21 bytes")]
    [InlineData("18000101AA" + "00112233445566778899AABBCCDDEEFF", "FrameEncodingError of 18", "19.15: retires itself and more")]
    [Trait("Rfc", "9000-19.6")]
    [Trait("Rfc", "9000-19.7")]
    [Trait("Rfc", "9000-19.8")]
    [Trait("Rfc", "9000-19.11")]
    [Trait("Rfc", "9000-19.14")]
    [Trait("Rfc", "9000-19.15")]
    public void Rules_of_fields_hold(string payload, string text, string rule)
        => Assert.True(FrameText.Of(Convert.FromHexString(payload)) == text, rule);

    [Fact]
    public void Nothing_is_read_after_an_error()
    {
        var reader = new FrameReader([0x1F, 1, 1], PacketKind.OneRtt, isServer: false);

        Assert.False(reader.TryRead(out _, out QuicError? error));
        Assert.NotNull(error);
        Assert.False(reader.TryRead(out _, out error));
        Assert.Null(error);
    }

    [Fact]
    [Trait("Rfc", "9000-13.2")]
    [Trait("Rfc", "9000-9.1")]
    public void Frames_elicit_acknowledgments_and_probe_by_their_types()
    {
        foreach (FrameType type in Packets.Keys)
        {
            bool isSilent = type is FrameType.Padding or FrameType.Ack or FrameType.ConnectionClose or FrameType.ConnectionCloseApplication;
            Assert.Equal(!isSilent, FrameTypes.IsAckEliciting(type));
        }

        Assert.Equal(
            [FrameType.Padding, FrameType.NewConnectionId, FrameType.PathChallenge, FrameType.PathResponse],
            Packets.Keys.Where(FrameTypes.IsProbing).Order());
    }
}
