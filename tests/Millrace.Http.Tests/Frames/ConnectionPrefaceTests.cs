namespace Millrace.Http.Tests;

/// <summary>RFC 9113 section 3.4.</summary>
public class ConnectionPrefaceTests
{
    [Fact]
    public void The_preface_is_the_one_of_the_RFC() => Assert.Equal(
        "505249202a20485454502f322e300d0a0d0a534d0d0a0d0a",
        Convert.ToHexStringLower(ConnectionPreface.Bytes));

    [Fact]
    public void Each_prefix_is_partial_and_all_of_it_is_whole()
    {
        for (int length = 0; length < ConnectionPreface.Size; length++)
        {
            Assert.Equal((length, PrefaceMatch.Partial), (length, ConnectionPreface.Match(ConnectionPreface.Bytes[..length])));
        }

        Assert.Equal(PrefaceMatch.Whole, ConnectionPreface.Match(ConnectionPreface.Bytes));
        Assert.Equal(PrefaceMatch.Whole, ConnectionPreface.Match([.. ConnectionPreface.Bytes, 0, 0]));
    }

    [Fact]
    public void One_wrong_byte_anywhere_makes_it_another_protocol()
    {
        for (int at = 0; at < ConnectionPreface.Size; at++)
        {
            byte[] wrong = ConnectionPreface.Bytes.ToArray();
            wrong[at] ^= 0x20;
            for (int length = at + 1; length <= wrong.Length; length++)
            {
                Assert.Equal((at, PrefaceMatch.No), (at, ConnectionPreface.Match(wrong.AsSpan(0, length))));
            }
        }

        Assert.Equal(PrefaceMatch.No, ConnectionPreface.Match("GET / HTTP/1.1\r\n"u8));
    }
}
