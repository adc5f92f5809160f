namespace Millrace.Http.Tests;

/// <summary>RFC 7541 section 6; RFC 9113 section 8.2.</summary>
public class FieldBlockWriterTests
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
        Assert.Equal(hex, Convert.ToHexString(Status(new byte[hex.Length / 2], status)));
        Assert.ThrowsAny<Exception>(() => Status(new byte[(hex.Length / 2) - 1], status));
    }

    [Fact]
    public void Every_status_is_decoded_as_itself()
    {
        for (int status = 100; status <= 999; status++)
        {
            Assert.Equal($":status: {status}\nOk\n0 0", new ReferenceHpack().Decode(Status(new byte[5], status)));
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
    public void What_is_no_field_is_refused(string name, string value) =>
        Assert.Throws<ArgumentException>(() => Write(name, value));

    // RFC 9113 section 8.2.2: an endpoint MUST NOT generate an HTTP/2 message containing connection-specific fields.
    [Theory]
    [InlineData("Connection")]
    [InlineData("Proxy-Connection")]
    [InlineData("Keep-Alive")]
    [InlineData("Transfer-Encoding")]
    [InlineData("Upgrade")]
    public void A_field_of_a_connection_is_refused(string name) => Assert.Throws<ArgumentException>(() => Write(name, "a"));

    // RFC 7541 section 6.3.
    [Fact]
    public void A_table_of_size_0_is_announced_in_one_byte()
    {
        byte[] room = new byte[FieldBlockWriter.TableSizeUpdateBytes];
        var writer = new FieldBlockWriter(room);
        writer.TableSizeUpdate();
        Assert.Equal((1, 0x20), (writer.Finish(), room[0]));
    }

    [Fact]
    public void A_name_longer_than_any_is_written_too()
    {
        string name = new('N', 5000);
        Assert.Equal($"{name.ToLowerInvariant()}: v\nOk\n0 0", new ReferenceHpack().Decode(Write(name, "v")));
    }

    private static byte[] Status(byte[] room, int status)
    {
        var writer = new FieldBlockWriter(room);
        writer.Status(status);
        return room[..writer.Finish()];
    }

    private static byte[] Write(string name, string value)
    {
        byte[] room = new byte[FieldBlockWriter.FieldOverheadBytesMax + name.Length + value.Length];
        var writer = new FieldBlockWriter(room);
        writer.Field(Latin1.Bytes(name), Latin1.Bytes(value));
        return room[..writer.Finish()];
    }

    private static void Encodes(string hex, string name, string value) =>
        Assert.Equal(Convert.ToHexString(Blocks.Bytes(hex)), Convert.ToHexString(Write(name, value)));
}
