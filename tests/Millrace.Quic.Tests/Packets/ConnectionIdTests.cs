using Millrace.Quic.Packets;

namespace Millrace.Quic.Tests.Packets;

public class ConnectionIdTests
{
    [Fact]
    public void An_id_gives_back_its_bytes_at_each_length()
    {
        for (int length = 0; length <= ConnectionId.MaximumLength; length++)
        {
            byte[] bytes = [.. Enumerable.Range(1, length).Select(i => (byte)i)];
            var id = new ConnectionId(bytes);

            Assert.Equal(bytes, id.AsSpan);
            Assert.Equal(length, id.Length);
            Assert.Equal(Convert.ToHexStringLower(bytes), id.ToString());
        }
    }

    [Fact]
    public void Ids_are_equal_by_their_bytes_and_length()
    {
        var id = new ConnectionId([1, 2, 0]);

        Assert.Equal(id, new ConnectionId([1, 2, 0]));
        Assert.Equal(id.GetHashCode(), new ConnectionId([1, 2, 0]).GetHashCode());
        Assert.NotEqual(id, new ConnectionId([1, 2]));
        Assert.NotEqual(id, new ConnectionId([1, 2, 1]));
        Assert.True(new ConnectionId([]) == default);
        byte[] longest = new byte[ConnectionId.MaximumLength];
        var other = new ConnectionId(longest);
        longest[^1] = 1;
        Assert.True(new ConnectionId(longest) != other);
    }
}
