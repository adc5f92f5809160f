namespace Millrace.Http.Tests;

/// <summary>
/// Frames and their order, RFC 9114 sections 4.1, 6.2.1, 7.1 and 7.2. The first byte of each frame is its type, the second its length.
/// </summary>
public class Http3FrameReaderTests
{
    [Fact]
    [Trait("Rfc", "9114-4.1")]
    [Trait("Rfc", "9114-7.2.1")]
    [Trait("Rfc", "9114-7.2.2")]
    public void A_request_is_a_head_data_and_trailers()
    {
        Requests("1 2 ab\n0 3 abc\n0 0 \n1 1 c\nbetween 0", "0102 6162 0003 616263 0000 0101 63");
        Requests("1 1 a\n1 1 b\nbetween 0", "0101 61 0101 62");
        Requests("between 10d", "");
        Requests("33 1 skipped\nbetween 10d", "2101 00");
    }

    [Theory]
    [Trait("Rfc", "9114-4.1")]
    [InlineData("00")]
    [InlineData("0101 61 0000 0101 62 00")]
    [InlineData("0101 61 0000 0101 62 01")]
    [InlineData("0101 61 0101 62 01")]
    [InlineData("0101 61 0101 62 00")]
    public void Frames_in_another_order_are_unexpected(string hex) =>
        Assert.EndsWith("error 105", Description(hex, Http3StreamKind.Request), StringComparison.Ordinal);

    // Sections 7.2.3 to 7.2.7 and RFC 9218 section 7.2; section 7.2.8: types of HTTP/2.
    [Theory]
    [Trait("Rfc", "9114-7.2.3")]
    [Trait("Rfc", "9114-7.2.4")]
    [Trait("Rfc", "9114-7.2.5")]
    [Trait("Rfc", "9114-7.2.6")]
    [Trait("Rfc", "9114-7.2.7")]
    [Trait("Rfc", "9114-7.2.8")]
    [Trait("Rfc", "9218-7.2")]
    [InlineData("02")]
    [InlineData("03")]
    [InlineData("04")]
    [InlineData("05")]
    [InlineData("06")]
    [InlineData("07")]
    [InlineData("08")]
    [InlineData("09")]
    [InlineData("0d")]
    [InlineData("800f0700")]
    [InlineData("800f0701")]
    public void A_request_has_no_frames_of_a_connection(string type)
    {
        Requests("error 105", type);
        Requests("1 1 a\nerror 105", "0101 61" + type);
        Assert.Equal(type == "05" ? "error 108" : "error 105", Description(type, Http3StreamKind.Response));
    }

    [Fact]
    [Trait("Rfc", "9114-4.1")]
    public void A_response_may_have_heads_before_its_own()
    {
        Responses("1 1 a\n1 1 b\n1 1 c\n0 1 d\n1 1 e\nbetween 0", "0101 61 0101 62 0101 63 0001 64 0101 65");
        Responses("between 10e", "");
    }

    [Theory]
    [Trait("Rfc", "9114-9")]
    [Trait("Rfc", "9114-7.2.8")]
    [InlineData("21 00", "33 0 skipped\nbetween 10d")]
    [InlineData("4040 05 0102030405 0101 61", "64 5 skipped\n1 1 a\nbetween 0")]
    [InlineData("0a 4002 ffff", "10 2 skipped\nbetween 10d")]
    [InlineData("ffff ffff ffff ffff 01 00", "4611686018427387903 1 skipped\nbetween 10d")]
    public void Frames_of_unknown_types_are_skipped(string hex, string expected) => Requests(expected, hex);

    [Theory]
    [Trait("Rfc", "9114-7.1")]
    [InlineData("01")]
    [InlineData("01 40")]
    [InlineData("01 02 61")]
    [InlineData("0100 00 05 61")]
    [InlineData("0100 21 05 61")]
    public void A_stream_that_ends_within_a_frame_is_truncated(string hex) =>
        Assert.EndsWith("within 106", Description(hex, Http3StreamKind.Request), StringComparison.Ordinal);

    [Fact]
    [Trait("Rfc", "9114-6.2.1")]
    [Trait("Rfc", "9114-7.2.4")]
    public void A_control_stream_begins_with_settings_and_has_them_once()
    {
        Controls("4 0 \nbetween 104", "0400");
        Controls("4 0 \nerror 105", "0400 04");
        Controls("error 10a", "07");
        Controls("error 10a", "00");
        Controls("error 10a", "21");
    }

    [Theory]
    [Trait("Rfc", "9114-7.2.1")]
    [Trait("Rfc", "9114-7.2.2")]
    [Trait("Rfc", "9114-7.2.5")]
    [InlineData("00")]
    [InlineData("01")]
    [InlineData("05")]
    [InlineData("02")]
    public void A_control_stream_has_no_frames_of_a_message(string type) => Controls("4 0 \nerror 105", "0400" + type);

    [Theory]
    [Trait("Rfc", "9114-7.2.7")]
    [Trait("Rfc", "9218-7.2")]
    [InlineData("0d01 00")]
    [InlineData("800f0700 01 00")]
    [InlineData("800f0701 01 00")]
    public void What_only_clients_send_is_unexpected_from_a_server(string hex)
    {
        Assert.Equal("4 0 \nerror 105", Description("0400" + hex, Http3StreamKind.ServerControl));
        Assert.EndsWith("between 104", Description("0400" + hex, Http3StreamKind.ClientControl), StringComparison.Ordinal);
    }

    [Theory]
    [Trait("Rfc", "9114-7.1")]
    [InlineData("07 00")]
    [InlineData("07 03")]
    [InlineData("0d 09")]
    [InlineData("03 05")]
    [InlineData("800f0700 00")]
    public void A_frame_that_no_identifier_fills_is_an_error(string hex) => Controls("4 0 \nerror 106", "0400" + hex);

    [Fact]
    public void A_frame_on_a_control_stream_has_a_limit()
    {
        Controls("error 107", "04 5001");
        Controls("4 0 \nerror 107", "0400 800f0700 5001");
        Assert.StartsWith("4 4096 ", Description("04 5000", Http3StreamKind.ClientControl), StringComparison.Ordinal);
        Controls("4 0 \n33 16383 skipped\nwithin 104", "0400 21 7fff");
    }

    [Fact]
    [Trait("Rfc", "9114-4.4")]
    public void After_a_tunnel_began_only_data_follows()
    {
        var reader = new Http3FrameReader(Http3StreamKind.Request);
        Assert.Equal(Http3FrameEvent.Begin, reader.Read([1, 0], out _, out _));
        Assert.Equal(Http3FrameEvent.End, reader.Read([], out _, out _));
        reader.ExpectOnlyData();
        Assert.Equal(Http3FrameEvent.Begin, reader.Read([0, 0], out _, out _));
        Assert.Equal(Http3FrameEvent.End, reader.Read([], out _, out _));
        Assert.Equal(Http3FrameEvent.Begin, reader.Read([0x21, 0], out _, out _));
        Assert.Equal(Http3FrameEvent.End, reader.Read([], out _, out _));
        Assert.Equal(Http3FrameEvent.Error, reader.Read([1, 0], out _, out _));
        Assert.Equal(Http3Error.FrameUnexpected, reader.Error);
    }

    [Fact]
    public void A_payload_in_pieces_is_given_in_those_pieces()
    {
        var reader = new Http3FrameReader(Http3StreamKind.Request);
        Assert.Equal(Http3FrameEvent.Begin, reader.Read([1, 5, 7], out int consumed, out _));
        Assert.Equal((2, 5L, Http3FrameType.Headers), (consumed, reader.Length, reader.Type));
        Assert.Equal(Http3FrameEvent.Payload, reader.Read([7], out consumed, out ReadOnlySpan<byte> payload));
        Assert.Equal((1, 1, 4L), (consumed, payload.Length, reader.Left));
        Assert.Equal(Http3FrameEvent.NeedMore, reader.Read([], out consumed, out _));
        Assert.Equal(Http3FrameEvent.Payload, reader.Read([8, 8, 8, 8, 0], out consumed, out payload));
        Assert.Equal((4, 4, 0L), (consumed, payload.Length, reader.Left));
        Assert.Equal(Http3FrameEvent.End, reader.Read([0], out consumed, out payload));
        Assert.Equal((0, false, true), (consumed, reader.IsWithinFrame, reader.HasMessage));
    }

    [Fact]
    public void Bytes_that_cannot_be_taken_now_are_read_again()
    {
        var reader = new Http3FrameReader(Http3StreamKind.Request);
        Assert.Equal(Http3FrameEvent.Begin, reader.Read([1, 3, 7, 8, 9], out _, out _));
        Assert.Equal(Http3FrameEvent.Payload, reader.Read([7, 8, 9], out int consumed, out _));
        Assert.Equal(3, consumed);
        reader.Unread(2);
        Assert.Equal((2, 3L, true), (reader.Left, reader.Length, reader.IsWithinFrame));
        Assert.Equal(Http3FrameEvent.Payload, reader.Read([8, 9, 0], out consumed, out ReadOnlySpan<byte> payload));
        Assert.Equal((2, 8, 9), (consumed, payload[0], payload[1]));
        reader.Unread(2);
        Assert.Equal(Http3FrameEvent.NeedMore, reader.Read([], out _, out _));
        Assert.Equal(Http3FrameEvent.Payload, reader.Read([8, 9], out _, out _));
        Assert.Equal(Http3FrameEvent.End, reader.Read([], out _, out _));
    }

    [Fact]
    public void Streams_in_pieces_are_read_as_by_the_reference() => Cases.Run(10_000, random =>
    {
        int kind = random.Next(4);
        byte[] bytes = Http3Generator.Stream(random, kind);
        Assert.Equal(
            (kind, Convert.ToHexString(bytes), ReferenceHttp3.Frames(bytes, kind)),
            (kind, Convert.ToHexString(bytes), Http3Description.Frames(bytes, kind, () => random.Next(1, 20))));
    });

    private static string Description(string hex, Http3StreamKind kind) => Http3Description.Frames(Blocks.Bytes(hex), (int)kind, () => 1);

    private static void Requests(string expected, string hex) => Assert.Equal(expected, Description(hex, Http3StreamKind.Request));

    private static void Responses(string expected, string hex) => Assert.Equal(expected, Description(hex, Http3StreamKind.Response));

    private static void Controls(string expected, string hex) => Assert.Equal(expected, Description(hex, Http3StreamKind.ClientControl));
}
