using System.Net;
using Millrace.Engine.Backends;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Datagrams;

/// <summary>What a buffer with a message says, and addresses as the kernel writes them.</summary>
public class ReceivedDatagramsTests
{
    [Fact]
    public void All_that_the_kernel_says_is_read()
    {
        byte[] control =
        [
            .. Control(17, 104, BitConverter.GetBytes(1_000)),
            .. Control(41, 67, BitConverter.GetBytes(0xB9)),
            .. Control(41, 50, [.. IPAddress.Parse("fe80::7").GetAddressBytes(), 3, 0, 0, 0]),
            .. Control(1, 40, BitConverter.GetBytes(77u)),
            .. Control(1, 99, [1]),
        ];
        Read(DatagramScript.Message(new byte[2_500], control), received =>
        {
            Assert.Equal((2_500, 1_000, 3, false), (received.PayloadBytes, received.SegmentBytes, received.Count, received.IsTruncated));
            Assert.Equal((DatagramEcn.Ect1, 77u), (received.Ecn, received.Drops!.Value));
            Assert.Equal(new IPEndPoint(IPAddress.Parse("fe80::7%3"), 443), received.To.ToEndPoint());
            Assert.Equal(DatagramScript.Peer, received.From);
        });
    }

    [Fact]
    public void A_message_alone_is_one_datagram() => Read(DatagramScript.Message([1, 2, 3]), received =>
    {
        Assert.Equal((3, 3, 1), (received.PayloadBytes, received.SegmentBytes, received.Count));
        Assert.Equal((default, DatagramEcn.NotEct, null), (received.To, received.Ecn, received.Drops));
    });

    [Theory]
    [InlineData(0)]
    [InlineData(-5)]
    [InlineData(int.MaxValue)]
    public void A_size_of_segments_that_cannot_be_is_that_of_one_datagram(int segment) =>
        Read(DatagramScript.Message([1, 2, 3], Control(17, 104, BitConverter.GetBytes(segment))), received =>
            Assert.Equal((3, 1), (received.SegmentBytes, received.Count)));

    [Theory]
    [InlineData(4, 0)]
    [InlineData(0, MessageFlags.Truncated)]
    [InlineData(0, MessageFlags.ControlTruncated)]
    public void What_did_not_fit_is_known(int claimed, uint flags) =>
        Read(DatagramScript.Message([1, 2, 3], claimed: claimed, flags: flags), static received => Assert.True(received.IsTruncated));

    [Fact]
    public void Whatever_stands_there_is_read_within_its_bounds()
    {
        var random = new Random(7);
        byte[] control = new byte[DatagramBuffer.ControlBytes];
        for (int i = 0; i < 100_000; i++)
        {
            random.NextBytes(control);
            for (int at = 0; at + 16 <= control.Length; at += 16)
            {
                if (random.Next(2) == 0)
                {
                    BitConverter.TryWriteBytes(control.AsSpan(at), (long)random.Next(-2, 60));
                    BitConverter.TryWriteBytes(control.AsSpan(at + 8), random.Next(3) switch { 0 => 17, 1 => 41, _ => 0 });
                    BitConverter.TryWriteBytes(control.AsSpan(at + 12), random.Next(3) switch { 0 => 104, 1 => 50, _ => 8 });
                }
            }

            Read(DatagramScript.Message([1, 2, 3], control[..random.Next(control.Length + 1)]), static received =>
                Assert.InRange(received.SegmentBytes, 1, 3));
        }
    }

    [Theory]
    [InlineData("127.0.0.1", true)]
    [InlineData("10.1.2.3", false)]
    [InlineData("::1", true)]
    [InlineData("2001:db8::7", true)]
    [InlineData("fe80::1%2", true)]
    [InlineData("::", true)]
    [InlineData("0.0.0.0", false)]
    public void An_address_is_written_as_it_is_read(string text, bool isIPv6)
    {
        var endPoint = new IPEndPoint(IPAddress.Parse(text), 50_443);
        DatagramAddress address = DatagramAddress.Of(endPoint);
        byte[] bytes = new byte[28];
        int count = address.Write(bytes, isIPv6);
        Assert.Equal(address, DatagramAddress.Read(bytes.AsSpan(0, count)));
        Assert.Equal((endPoint, endPoint.Address.ToString() is "::" or "0.0.0.0"), (address.ToEndPoint(), address.IsAny));
        if (isIPv6 == text.Contains(':', StringComparison.Ordinal))
        {
            SocketAddress expected = endPoint.Serialize();
            Assert.Equal(expected.Buffer.Span[..expected.Size].ToArray(), bytes[..count]);
        }
    }

    [Fact]
    public void A_socket_of_ipv4_has_no_address_of_ipv6() =>
        Assert.Equal(0, DatagramAddress.Of(new IPEndPoint(IPAddress.IPv6Loopback, 1)).Write(new byte[28], isIPv6: false));

    [Fact]
    public void The_interface_of_a_global_address_is_no_part_of_it() => Assert.Equal(
        DatagramAddress.OfIPv6(0x2001_0DB8_0000_0000, 1, 443, 0), DatagramAddress.OfIPv6(0x2001_0DB8_0000_0000, 1, 443, 7));

    internal static byte[] Control(int level, int type, byte[] data)
    {
        byte[] control = new byte[16 + ((data.Length + 7) & -8)];
        BitConverter.TryWriteBytes(control, 16L + data.Length);
        BitConverter.TryWriteBytes(control.AsSpan(8), level);
        BitConverter.TryWriteBytes(control.AsSpan(12), type);
        data.CopyTo(control, 16);
        return control;
    }

    private static unsafe void Read(byte[] message, Action<ReceivedDatagrams> check)
    {
        fixed (byte* buffer = message)
        {
            check(new ReceivedDatagrams(buffer, message.Length, localPort: 443));
        }
    }
}
