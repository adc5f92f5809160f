namespace Millrace.Http.Tests;

/// <summary>RFC 7541 section 6; RFC 9113 section 8.2.</summary>
public class HpackEncoderTests
{
    [Theory]
    [InlineData(200, "88")]
    [InlineData(204, "89")]
    [InlineData(206, "8A")]
    [InlineData(304, "8B")]
    [InlineData(400, "8C")]
    [InlineData(404, "8D")]
    [InlineData(500, "8E")]
    [InlineData(302, "08826402")]
    [InlineData(307, "0803333037")]
    public void A_status_is_an_entry_of_the_static_table_or_a_literal(int status, string hex)
    {
        byte[] room = new byte[HpackEncoder.StatusBytesMax];
        Assert.Equal(hex, Convert.ToHexString(room.AsSpan(0, HpackEncoder.WriteStatus(room, status))));
        Assert.Equal(0, HpackEncoder.WriteStatus(room.AsSpan(0, (hex.Length / 2) - 1), status));
    }

    [Fact]
    public void Every_status_is_decoded_as_itself()
    {
        byte[] room = new byte[HpackEncoder.StatusBytesMax];
        for (int status = 100; status <= 999; status++)
        {
            int bytes = HpackEncoder.WriteStatus(room, status);
            Assert.Equal($":status: {status}\nOk\n0 0", new ReferenceHpack().Decode(room[..bytes]));
        }
    }

    [Fact]
    public void A_name_of_the_static_table_is_its_index() => Encodes("0F0D 02 3132", "content-length", "12");

    [Fact]
    public void A_name_without_an_index_is_a_literal() =>
        Encodes("00 88 25A849E95BA97D7F 89 25A849E95BB8E8B4BF", "custom-key", "custom-value");

    [Fact]
    public void A_name_is_written_in_lower_case() => Encodes("00 88 25A849E95BA97D7F 00", "Custom-KEY", "");

    [Fact]
    public void A_value_that_huffman_code_would_not_make_shorter_stays() => Encodes("0F13 03 235E7C", "etag", "#^|");

    [Fact]
    public void A_secret_is_marked() => Encodes("1F28 03 613D2A", "set-cookie", "a=*", FieldSensitivity.NeverIndexed);

    [Fact]
    public void Whitespace_around_a_value_is_left_out() => Encodes("0F13 03 235E7C", "etag", " \t#^| ");

    [Theory]
    [InlineData("", "a")]
    [InlineData("a b", "a")]
    [InlineData(":status", "200")]
    [InlineData("a:", "a")]
    [InlineData("a\r\n", "a")]
    [InlineData("\u00E4", "a")]
    [InlineData("a", "b\r\nc: d")]
    [InlineData("a", "b\0")]
    [InlineData("a", "b\u007F")]
    public void What_is_no_field_is_refused(string name, string value) => Assert.Equal(0, Write(name, value));

    // RFC 9113 section 8.2.2: an endpoint MUST NOT generate an HTTP/2 message containing connection-specific fields.
    [Theory]
    [InlineData("Connection")]
    [InlineData("Proxy-Connection")]
    [InlineData("Keep-Alive")]
    [InlineData("Transfer-Encoding")]
    [InlineData("Upgrade")]
    public void A_field_of_a_connection_is_refused(string name) => Assert.Equal(0, Write(name, "a"));

    [Theory]
    [InlineData(0, "20")]
    [InlineData(30, "3E")]
    [InlineData(31, "3F00")]
    [InlineData(4096, "3FE11F")]
    public void A_size_update_is_written(int size, string hex)
    {
        byte[] room = new byte[HpackEncoder.TableSizeUpdateBytesMax];
        Assert.Equal(hex, Convert.ToHexString(room.AsSpan(0, HpackEncoder.WriteTableSizeUpdate(room, size))));
        Assert.Equal(0, HpackEncoder.WriteTableSizeUpdate(room.AsSpan(0, (hex.Length / 2) - 1), size));
    }

    [Fact]
    public void A_name_longer_than_any_is_written_too()
    {
        string name = new('N', 5000);
        byte[] room = new byte[HpackEncoder.MaxLength(Latin1.Bytes(name), "v"u8)];
        int bytes = HpackEncoder.WriteField(room, Latin1.Bytes(name), "v"u8);
        Assert.Equal($"{name.ToLowerInvariant()}: v\nOk\n0 0", new ReferenceHpack().Decode(room[..bytes]));
    }

    private static int Write(string name, string value) => HpackEncoder.WriteField(new byte[100], Latin1.Bytes(name), Latin1.Bytes(value));

    private static void Encodes(string hex, string name, string value, FieldSensitivity sensitivity = FieldSensitivity.Plain)
    {
        byte[] room = new byte[HpackEncoder.MaxLength(Latin1.Bytes(name), Latin1.Bytes(value))];
        int bytes = HpackEncoder.WriteField(room, Latin1.Bytes(name), Latin1.Bytes(value), sensitivity);
        Assert.Equal(Convert.ToHexString(Blocks.Bytes(hex)), Convert.ToHexString(room.AsSpan(0, bytes)));
    }
}
