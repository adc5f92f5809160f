using System.Buffers.Binary;
using System.Text;
using Millrace.AspNetCore.Multiplexed.Tls;

namespace Millrace.AspNetCore.Tests.Multiplexed;

/// <summary>The host of a ClientHello, which certificates are chosen by.</summary>
public class ClientHelloNameTests
{
    [Theory]
    [InlineData("example.org")]
    [InlineData("")]
    public void The_name_is_that_of_the_extension(string host)
    {
        Assert.Equal(ClientHelloNameResult.Complete, ClientHelloName.Read(Hello(host), out string name));
        Assert.Equal(host, name);
    }

    [Fact]
    public void A_hello_that_is_not_complete_waits_for_more()
    {
        byte[] hello = Hello("example.org");
        for (int i = 0; i < hello.Length; i++)
        {
            Assert.Equal(ClientHelloNameResult.Incomplete, ClientHelloName.Read(hello.AsSpan(0, i), out _));
        }
    }

    [Fact]
    public void Lengths_that_reach_beyond_their_field_are_not_valid()
    {
        byte[] hello = Hello("example.org");
        int invalid = 0;
        for (int i = 4; i < hello.Length; i++)
        {
            byte[] changed = [.. hello];
            changed[i] = 0xFF;

            // Whatever it says, it is read without a fault.
            invalid += ClientHelloName.Read(changed, out _) == ClientHelloNameResult.Invalid ? 1 : 0;
        }

        Assert.InRange(invalid, 5, hello.Length);
    }

    [Fact]
    public void Other_messages_and_huge_hellos_are_refused_at_once()
    {
        Assert.Equal(ClientHelloNameResult.Invalid, ClientHelloName.Read([2, 0, 0, 1, 0], out _));
        Assert.Equal(ClientHelloNameResult.Invalid, ClientHelloName.Read([1, 0, 0xFF, 0xFF], out _));
        Assert.Equal(ClientHelloNameResult.Invalid, ClientHelloName.Read([.. Hello("example.org"), 0], out _));
    }

    private static byte[] Hello(string host)
    {
        byte[] name = Encoding.ASCII.GetBytes(host);
        byte[] entry = [0, .. Number(name.Length), .. name];
        byte[] serverName = host.Length == 0 ? [] : [0, 0, .. Number(entry.Length + 2), .. Number(entry.Length), .. entry];
        byte[] extensions = [0, 43, 0, 3, 2, 3, 4, .. serverName, 0, 16, 0, 5, 0, 3, 2, (byte)'h', (byte)'3'];
        byte[] body =
        [
            3, 3, .. new byte[32], 4, 1, 2, 3, 4, 0, 2, 0x13, 1, 1, 0, .. Number(extensions.Length), .. extensions,
        ];
        return [1, 0, .. Number(body.Length), .. body];
    }

    private static byte[] Number(int value)
    {
        byte[] bytes = new byte[2];
        BinaryPrimitives.WriteUInt16BigEndian(bytes, (ushort)value);
        return bytes;
    }
}
