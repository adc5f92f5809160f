namespace Millrace.Http.Tests;

public class ResponseHeadWriterTests
{
    private const string Whole = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1234\r\nServer: m\r\n\r\n";

    [Fact]
    public void A_head_is_written_in_the_order_it_was_given()
    {
        byte[] bytes = new byte[200];
        Assert.Equal(Whole.Length, Write(bytes));
        Assert.Equal(Whole, Latin1.Text(bytes.AsSpan(0, Whole.Length)));
    }

    [Fact]
    public void A_span_that_is_too_small_by_any_number_of_bytes_is_never_written_past()
    {
        for (int room = 0; room < Whole.Length; room++)
        {
            byte[] bytes = new byte[room + 8];
            Assert.Throws<ArgumentException>(() => Write(bytes.AsSpan(0, room)));
            Assert.True(bytes.AsSpan(room).IndexOfAnyExcept((byte)0) < 0);
            Assert.StartsWith(Latin1.Text(bytes).TrimEnd('\0'), Whole, StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData("a\r\nSet-Cookie: b")]
    [InlineData("a\r")]
    [InlineData("a\n")]
    [InlineData("a\0")]
    [InlineData("\x7F")]
    public void A_value_that_would_split_the_response_is_refused(string value)
        => Assert.Throws<ArgumentException>(() => WriteField("A", value));

    [Theory]
    [InlineData("")]
    [InlineData("A:")]
    [InlineData("A B")]
    [InlineData("A\r\nB")]
    public void A_name_that_is_no_token_is_refused(string name) => Assert.Throws<ArgumentException>(() => WriteField(name, "b"));

    [Theory]
    [InlineData("")]
    [InlineData("\xE9\t \"x\"")]
    public void Any_other_value_is_written(string value) => Assert.Equal($"A: {value}\r\n\r\n".Length, WriteField("A", value));

    [Theory]
    [InlineData(0, "0")]
    [InlineData(9, "9")]
    [InlineData(10, "10")]
    [InlineData(long.MaxValue, "9223372036854775807")]
    public void A_content_length_is_written_in_digits(long length, string digits)
    {
        byte[] bytes = new byte[100];
        var writer = new ResponseHeadWriter(bytes);
        writer.ContentLength(length);
        Assert.Equal($"Content-Length: {digits}\r\n\r\n", Latin1.Text(bytes.AsSpan(0, writer.Finish())));
    }

    private static int Write(Span<byte> bytes)
    {
        var writer = new ResponseHeadWriter(bytes);
        writer.Status(200);
        writer.Field("Content-Type"u8, "text/html"u8);
        writer.ContentLength(1234);
        writer.Lines("Server: m\r\n"u8);
        return writer.Finish();
    }

    private static int WriteField(string name, string value)
    {
        var writer = new ResponseHeadWriter(new byte[100]);
        writer.Field(Latin1.Bytes(name), Latin1.Bytes(value));
        return writer.Finish();
    }
}
