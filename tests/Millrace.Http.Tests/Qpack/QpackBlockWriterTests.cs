namespace Millrace.Http.Tests;

/// <summary>RFC 9204 section 4.5; RFC 9114 section 4.2.</summary>
public class QpackBlockWriterTests
{
    [Theory]
    [Trait("Rfc", "9204-4.5.2")]
    [InlineData(200, "D9")]
    [InlineData(206, "FF02")]
    [InlineData(304, "DA")]
    [InlineData(404, "DB")]
    [InlineData(503, "DC")]
    [InlineData(103, "D8")]
    [InlineData(421, "FF06")]
    [InlineData(307, "5F0903333037")]
    [InlineData(416, "5F0903343136")]
    [InlineData(211, "5F09821043")]
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
            Assert.Equal($":status: {status}\nOk", Decode(Status(new byte[6], status)));
        }
    }

    [Theory]
    [Trait("Rfc", "9204-4.5.2")]
    [InlineData("F4", "Content-Type", "text/html; charset=utf-8")]
    [InlineData("E0", "accept-ranges", "bytes")]
    [InlineData("FF23", "X-Frame-Options", " sameorigin\t")]
    public void A_field_of_the_static_table_is_its_index(string hex, string name, string value) => Encodes(hex, name, value);

    [Fact]
    [Trait("Rfc", "9204-4.5.4")]
    public void A_name_of_the_static_table_is_its_index() => Encodes("54 02 3132", "Content-Length", "12");

    [Fact]
    [Trait("Rfc", "9204-4.5.6")]
    public void A_name_without_an_index_is_a_literal_in_lower_case()
    {
        Encodes("2F01 25A849E95BA97D7F 89 25A849E95BB8E8B4BF", "Custom-KEY", "custom-value");
        Encodes("23 237C5E 00", "#|^", "");
        Encodes("2702 237C5E237C5E237C5E 00", "#|^#|^#|^", "");
    }

    [Fact]
    public void A_value_that_huffman_code_would_not_make_shorter_stays() => Encodes("57 03 235E7C", "etag", "#^|");

    [Fact]
    [Trait("Rfc", "9204-4.5.1")]
    public void A_section_begins_with_two_zeros()
    {
        byte[] room = new byte[QpackBlockWriter.PrefixBytes + 1];
        var writer = new QpackBlockWriter(room);
        writer.Prefix();
        writer.Status(200);
        Assert.Equal("0000D9", Convert.ToHexString(room[..writer.Finish()]));
        Assert.Equal(":status: 200\nOk", new Sections(tableBytesMax: 0).Decode("0000D9"));
    }

    [Theory]
    [InlineData("", "a")]
    [InlineData("a b", "a")]
    [InlineData(":status", "200")]
    [InlineData("a\r\n", "a")]
    [InlineData("a", "b\r\nc: d")]
    [InlineData("a", "b\0")]
    public void What_is_no_field_is_refused(string name, string value) => Assert.Throws<ArgumentException>(() => Write(name, value));

    [Theory]
    [Trait("Rfc", "9114-4.2")]
    [InlineData("Connection")]
    [InlineData("Proxy-Connection")]
    [InlineData("Keep-Alive")]
    [InlineData("Transfer-Encoding")]
    [InlineData("Upgrade")]
    public void A_field_of_a_connection_is_refused(string name) => Assert.Throws<ArgumentException>(() => Write(name, "a"));

    [Fact]
    public void A_name_longer_than_any_is_written_too()
    {
        string name = new('N', 5000);
        Assert.Equal($"{name.ToLowerInvariant()}: v\nOk", Decode(Write(name, "v")));
    }

    [Fact]
    public void A_field_that_was_encoded_is_decoded_by_the_reference() => Cases.Run(2_000, random =>
    {
        string name = random.Pick("content-type", "ETag", "x-unknown", "Date", "set-cookie", "a", "vary", new string('n', 200));
        string value = random.Next(6) == 0
            ? random.Pick("text/plain", "accept-encoding", "")
            : string.Concat(Enumerable.Range(0, random.Next(60)).Select(_ => (char)random.Next(0x21, 0x7F)));
        byte[] field = Write(name, value);

        Assert.Equal($"{name.ToLowerInvariant()}: {value}\nOk", new ReferenceQpack(0, 0).Section(0, [0, 0, .. field], long.MaxValue));
        for (int less = 0; less < field.Length; less++)
        {
            byte[] guarded = new byte[less + 8];
            Assert.ThrowsAny<Exception>(() => new QpackBlockWriter(guarded.AsSpan(0, less)).Field(Latin1.Bytes(name), Latin1.Bytes(value)));
            Assert.True(guarded.AsSpan(less).IndexOfAnyExcept((byte)0) < 0);
        }
    });

    // ADR 0024: the head of a script of a site.
    [Fact]
    public void A_usual_head_is_smaller_than_in_HPACK()
    {
        Assert.Equal((142, 122), (Head<FieldBlockWriter>(), QpackBlockWriter.PrefixBytes + Head<QpackBlockWriter>()));

        static int Head<TWriter>()
            where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
        {
            TWriter writer = TWriter.Over(new byte[1000]);
            writer.Status(200);
            writer.Field("ETag"u8, "\"_z99li3kywpgoCXQl5v_vwb\""u8);
            writer.Field("Last-Modified"u8, "Sun, 29 Nov 2026 02:42:00 GMT"u8);
            writer.Field("Vary"u8, "Accept-Encoding"u8);
            writer.Field("Accept-Ranges"u8, "bytes"u8);
            writer.Field("Content-Encoding"u8, "br"u8);
            writer.Field("Content-Type"u8, "text/javascript; charset=utf-8"u8);
            writer.ContentLength(47012);
            writer.Field("Cache-Control"u8, "no-cache"u8);
            writer.Field("Date"u8, "Sun, 29 Nov 2026 02:42:02 GMT"u8);
            return writer.Finish();
        }
    }

    private static string Decode(byte[] representations) => new ReferenceQpack(0, 0).Section(0, [0, 0, .. representations], long.MaxValue);

    private static byte[] Status(byte[] room, int status)
    {
        var writer = new QpackBlockWriter(room);
        writer.Status(status);
        return room[..writer.Finish()];
    }

    private static byte[] Write(string name, string value)
    {
        byte[] room = new byte[QpackBlockWriter.FieldOverheadBytesMax + name.Length + value.Length];
        var writer = new QpackBlockWriter(room);
        writer.Field(Latin1.Bytes(name), Latin1.Bytes(value));
        return room[..writer.Finish()];
    }

    private static void Encodes(string hex, string name, string value) =>
        Assert.Equal(Convert.ToHexString(Blocks.Bytes(hex)), Convert.ToHexString(Write(name, value)));
}
