namespace Millrace.Http.Tests;

/// <summary>RFC 9110 section 14.4.</summary>
public class ContentRangeTests
{
    [Theory]
    [InlineData(0, 4, 10, "bytes 0-4/10")]
    [InlineData(42, 1233, 1234, "bytes 42-1233/1234")]
    [InlineData(0, 0, 1, "bytes 0-0/1")]
    [InlineData(5368709120, 5368709124, 6000000000, "bytes 5368709120-5368709124/6000000000")]
    public void A_range_is_written_with_the_size(long first, long last, long size, string value)
        => Assert.Equal(value, Write(destination => ContentRange.Write(destination, new ByteRange(first, last), size)));

    [Theory]
    [InlineData(0, "bytes */0")]
    [InlineData(1234, "bytes */1234")]
    [InlineData(long.MaxValue, "bytes */9223372036854775807")]
    public void What_cannot_be_satisfied_is_written_as_the_size_alone(long size, string value)
        => Assert.Equal(value, Write(destination => ContentRange.WriteUnsatisfied(destination, size)));

    [Fact]
    public void The_longest_value_needs_all_of_the_room()
    {
        var range = new ByteRange(long.MaxValue - 1, long.MaxValue - 1);
        string value = Write(destination => ContentRange.Write(destination, range, long.MaxValue));
        Assert.Equal("bytes 9223372036854775806-9223372036854775806/9223372036854775807", value);
        Assert.Equal(ContentRange.MaxBytes, value.Length);
        Assert.Throws<ArgumentException>(
            () => ContentRange.Write(new byte[ContentRange.MaxBytes - 1], range, long.MaxValue));
    }

    [Fact]
    public void A_range_has_both_its_ends()
    {
        Assert.Equal(1, new ByteRange(7, 7).Length);
        Assert.Equal(6_000_000_000, new ByteRange(0, 5_999_999_999).Length);
    }

    private static string Write(Func<byte[], int> write)
    {
        byte[] destination = new byte[ContentRange.MaxBytes];
        int written = write(destination);
        return Latin1.Text(destination.AsSpan(0, written));
    }
}
