using System.Buffers.Binary;
using System.Net;
using System.Numerics;
using System.Text;
using Millrace.Engine.Filters;

namespace Millrace.Engine.Tests.Filters;

public class ProxyHeaderTests
{
    private static readonly byte[] Signature = Convert.FromHexString("0D0A0D0A000D0A515549540A");

    [Theory]
    [InlineData("PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n", "192.0.2.1:56324", "198.51.100.1:443")]
    [InlineData("PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\n", "[2001:db8::1]:1", "[2001:db8::2]:65535")]
    public void A_line_tells_both_ends(string line, string source, string destination)
    {
        ProxyHeader preface = ProxyHeader.Read(Encoding.ASCII.GetBytes(line + "GET / HTTP/1.1\r\n"));
        Assert.Equal(ProxyHeaderStatus.Announced, preface.Status);
        Assert.Equal(line.Length, preface.Bytes);
        Assert.Equal(IPEndPoint.Parse(source), preface.Source);
        Assert.Equal(IPEndPoint.Parse(destination), preface.Destination);
    }

    [Theory]
    [InlineData("PROXY UNKNOWN\r\n")]
    [InlineData("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n")]
    public void A_line_may_tell_nothing(string line)
    {
        ProxyHeader preface = ProxyHeader.Read(Encoding.ASCII.GetBytes(line + "x"));
        Assert.Equal(new ProxyHeader(ProxyHeaderStatus.NoAddresses, line.Length), preface);
    }

    [Theory]
    [InlineData("GET / HTTP/1.1\r\n\r\n")]
    [InlineData("PROXX")]
    [InlineData("PROXY TCP4 192.0.2.1 198.51.100.1 56324\r\n")]
    [InlineData("PROXY TCP4 192.0.2.1 198.51.100.1 56324 443 \r\n")]
    [InlineData("PROXY TCP4 192.0.2.1  198.51.100.1 56324 443\r\n")]
    [InlineData("PROXY TCP4 192.0.2.1 198.51.100.1 56324 65536\r\n")]
    [InlineData("PROXY TCP4 192.0.2.1 198.51.100.1 +1 443\r\n")]
    [InlineData("PROXY TCP4 192.0.2 198.51.100.1 1 443\r\n")]
    [InlineData("PROXY TCP4 2001:db8::1 2001:db8::2 1 443\r\n")]
    [InlineData("PROXY TCP6 192.0.2.1 198.51.100.1 1 443\r\n")]
    [InlineData("PROXY TCP6 fe80::1%1 fe80::2 1 443\r\n")]
    [InlineData("PROXY UDP4 192.0.2.1 198.51.100.1 1 443\r\n")]
    [InlineData("PROXY  TCP4 192.0.2.1 198.51.100.1 1 443\r\n")]
    [InlineData("\r\n\r\n\0\r\nQUIX\n")]
    public void What_is_no_preface_is_refused(string text) =>
        Assert.Equal(ProxyHeaderStatus.Malformed, ProxyHeader.Read(Encoding.ASCII.GetBytes(text)).Status);

    [Fact]
    public void A_line_without_end_is_refused_at_its_limit()
    {
        string line = "PROXY UNKNOWN " + new string('x', 200);
        Assert.Equal(ProxyHeaderStatus.Incomplete, ProxyHeader.Read(Encoding.ASCII.GetBytes(line[..106])).Status);
        Assert.Equal(ProxyHeaderStatus.Malformed, ProxyHeader.Read(Encoding.ASCII.GetBytes(line[..107])).Status);
    }

    [Fact]
    public void A_block_tells_both_ends_of_either_family()
    {
        byte[] four = Block(0x21, 0x11, [192, 0, 2, 1, 198, 51, 100, 1, 0x12, 0x34, 0x01, 0xBB]);
        Assert.Equal(
            new ProxyHeader(ProxyHeaderStatus.Announced, four.Length,
                IPEndPoint.Parse("192.0.2.1:4660"), IPEndPoint.Parse("198.51.100.1:443")),
            ProxyHeader.Read([.. four, 1, 2, 3]));
        byte[] six = Block(0x21, 0x21,
            [.. IPAddress.Parse("2001:db8::1").GetAddressBytes(), .. IPAddress.Parse("2001:db8::2").GetAddressBytes(), 0, 1, 0, 2]);
        Assert.Equal(
            new ProxyHeader(ProxyHeaderStatus.Announced, six.Length,
                IPEndPoint.Parse("[2001:db8::1]:1"), IPEndPoint.Parse("[2001:db8::2]:2")),
            ProxyHeader.Read(six));
    }

    [Theory]
    [InlineData(0x20, 0x00, 0)]
    [InlineData(0x20, 0xFF, 7)]
    [InlineData(0x21, 0x00, 0)]
    [InlineData(0x21, 0x00, 5)]
    [InlineData(0x21, 0x10, 12)]
    [InlineData(0x21, 0x31, 216)]
    public void A_block_may_tell_nothing(int command, int family, int bytes)
    {
        byte[] block = Block(command, family, new byte[bytes]);
        Assert.Equal(new ProxyHeader(ProxyHeaderStatus.NoAddresses, block.Length), ProxyHeader.Read([.. block, 9]));
    }

    [Theory]
    [InlineData(0x11, 0x11, 12)]
    [InlineData(0x31, 0x11, 12)]
    [InlineData(0x22, 0x11, 12)]
    [InlineData(0x21, 0x41, 12)]
    [InlineData(0x21, 0x13, 12)]
    [InlineData(0x21, 0x11, 11)]
    [InlineData(0x21, 0x21, 35)]
    [InlineData(0x21, 0x31, 215)]
    [InlineData(0x21, 0x11, 13)]
    [InlineData(0x21, 0x11, 5000)]
    public void A_block_that_is_not_as_it_should_be_is_refused(int command, int family, int bytes) =>
        Assert.Equal(ProxyHeaderStatus.Malformed, ProxyHeader.Read(Block(command, family, new byte[bytes])).Status);

    [Fact]
    public void Values_are_skipped_and_must_fit()
    {
        byte[] addresses = [192, 0, 2, 1, 198, 51, 100, 1, 0, 1, 0, 2];
        byte[] block = Block(0x21, 0x11, [.. addresses, 0x01, 0, 2, (byte)'h', (byte)'2', 0x04, 0, 0]);
        Assert.Equal((ProxyHeaderStatus.Announced, block.Length), (ProxyHeader.Read(block).Status, ProxyHeader.Read(block).Bytes));
        Assert.Equal(ProxyHeaderStatus.Malformed, ProxyHeader.Read(Block(0x21, 0x11, [.. addresses, 0x01, 0, 3, (byte)'h', (byte)'2'])).Status);
    }

    [Fact]
    public void A_checksum_is_checked_where_there_is_one()
    {
        byte[] block = Block(0x21, 0x11, [192, 0, 2, 1, 198, 51, 100, 1, 0, 1, 0, 2, 0x03, 0, 4, 0, 0, 0, 0]);
        uint crc = uint.MaxValue;
        foreach (byte one in block)
        {
            crc = BitOperations.Crc32C(crc, one);
        }

        BinaryPrimitives.WriteUInt32BigEndian(block.AsSpan(block.Length - 4), ~crc);
        Assert.Equal(ProxyHeaderStatus.Announced, ProxyHeader.Read(block).Status);
        const int Type = 16 + 12;
        foreach (int i in Enumerable.Range(16, block.Length - 16).Where(static i => i != Type))
        {
            byte[] broken = [.. block];
            broken[i] ^= 1;
            Assert.Equal(ProxyHeaderStatus.Malformed, ProxyHeader.Read(broken).Status);
        }
    }

    [Fact]
    public void However_it_is_split_the_result_is_the_same()
    {
        byte[][] prefaces =
        [
            Encoding.ASCII.GetBytes("PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n"),
            Block(0x21, 0x11, [192, 0, 2, 1, 198, 51, 100, 1, 0, 1, 0, 2, 0x04, 0, 1, 0]),
        ];
        foreach (byte[] preface in prefaces)
        {
            for (int i = 0; i < preface.Length; i++)
            {
                Assert.Equal(ProxyHeader.Incomplete, ProxyHeader.Read(preface.AsSpan(0, i)));
            }

            Assert.Equal(ProxyHeaderStatus.Announced, ProxyHeader.Read(preface).Status);
        }
    }

    [Fact]
    public void No_bytes_make_it_fail_and_more_of_them_change_no_decision()
    {
#pragma warning disable CA5394 // Not for secrets: the bytes have to be the same in every run.
        var random = new Random(11);
        byte[][] seeds = [Encoding.ASCII.GetBytes("PROXY TCP6 2001:db8::1 ::1 1 2\r\n"), Block(0x21, 0x11, new byte[30])];
        for (int i = 0; i < 20_000; i++)
        {
            byte[] bytes = [.. seeds[i % seeds.Length]];
            for (int changes = random.Next(4); changes > 0; changes--)
            {
                bytes[random.Next(bytes.Length)] = (byte)random.Next(256);
            }

            ProxyHeader whole = ProxyHeader.Read(bytes);
            ProxyHeader part = ProxyHeader.Read(bytes.AsSpan(0, random.Next(bytes.Length + 1)));
            Assert.True(part.Status == ProxyHeaderStatus.Incomplete || part == whole, Convert.ToHexString(bytes));
            Assert.InRange(whole.Bytes, 0, bytes.Length);
        }
#pragma warning restore CA5394
    }

    private static byte[] Block(int command, int family, byte[] rest) =>
        [.. Signature, (byte)command, (byte)family, (byte)(rest.Length >> 8), (byte)rest.Length, .. rest];
}
