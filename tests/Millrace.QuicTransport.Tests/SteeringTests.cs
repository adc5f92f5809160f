using System.Net.Sockets;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Tests.Kit;
using Millrace.Quic.Connections;
using Millrace.QuicTransport.Tests.Kit;

namespace Millrace.QuicTransport.Tests;

/// <summary>Which reactor of several an id and a datagram belong to.</summary>
public class SteeringTests : QuicTransportTest
{
    private static readonly ConnectionIdCipher Cipher = new(
        [.. Enumerable.Range(1, ConnectionIdCipher.KeyWords).Select(static i => (uint)(0x9E37_79B9L * i))]);

    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(7)]
    [InlineData(200)]
    [InlineData(256)]
    public void An_id_names_its_endpoint_whatever_the_random_bytes(int endpoints)
    {
        Random random = new(endpoints);
        for (int index = 0; index < endpoints; index++)
        {
            ConnectionIdRule rule = new(endpoints, index, Cipher);
            for (int i = 0; i < 64; i++)
            {
                byte[] id = new byte[EndpointTable.IdLength];
                random.NextBytes(id);
                // The largest numbers too, which have no further one of this endpoint.
                id.AsSpan(0, i < 4 ? 4 : 0).Fill(0xFF);
                rule.Apply(id);
                Assert.Equal(index, rule.EndpointOf([0x40, .. id]));
                Assert.Equal(index, rule.EndpointOf([0xC0, 0, 0, 0, 1, 8, .. id]));
                Assert.Equal(index, new ConnectionIdRule(endpoints, (index + 1) % endpoints, Cipher).EndpointOf([0x40, .. id, 7]));
            }
        }
    }

    [Fact]
    public void An_id_of_a_single_endpoint_stays_random()
    {
        byte[] id = [77, 1, 2, 3, 4, 5, 6, 7];
        default(ConnectionIdRule).Apply(id);
        new ConnectionIdRule(1, 0, Cipher).Apply(id);
        Assert.Equal([77, 1, 2, 3, 4, 5, 6, 7], id);
        Assert.Equal(0, default(ConnectionIdRule).EndpointOf([0x40, .. id]));
    }

    [Fact]
    public void A_datagram_that_is_too_short_for_an_id_belongs_to_where_it_arrived()
    {
        ConnectionIdRule rule = new(4, 2, Cipher);
        Assert.Equal(2, rule.EndpointOf([]));
        Assert.Equal(2, rule.EndpointOf([0x40]));
        Assert.Equal(2, rule.EndpointOf([0x40, 1, 2, 3, 4, 5, 6, 7]));
        Assert.Equal(2, rule.EndpointOf([0xC0, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7]));
    }

    /// <summary>
    /// With the kernel's program, each arrives at its reactor; without, each is handed over to it. Each is answered there by a reset, as
    /// it is of no connection.
    /// </summary>
    [Theory]
    [InlineData(2, true)]
    [InlineData(5, true)]
    [InlineData(2, false)]
    [InlineData(5, false)]
    public async Task The_kernel_and_the_reactors_agree_on_whose_a_datagram_is(int reactors, bool isSteered)
    {
        QuicListener listener = await ListenAsync(reactors, sockets: new DatagramSettings { IsSteered = isSteered });
        using Socket peer = new(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        await peer.ConnectAsync(listener.LocalEndPoint);
        Random random = new(reactors);
        long[] expected = new long[reactors];
        byte[] datagram = new byte[60];
        for (int i = 0; i < 100; i++)
        {
            random.NextBytes(datagram);
            datagram[0] = 0x40;
            expected[listener.Reactors[0].IdRule.EndpointOf(datagram)]++;
            peer.Send(datagram);
        }

        await Waiting.UntilAsync(
            () => listener.Counters.Select(static counters => counters.StatelessResets).SequenceEqual(expected), "each reactor has answered");
        Assert.DoesNotContain(0, expected);
        Assert.Equal(isSteered, Sum(listener, static counters => counters.HandedOver) == 0);
    }

    [Fact]
    [Trait("Rfc", "9000-5.1")]
    public async Task Listeners_do_not_share_a_key()
    {
        QuicListener one = await ListenAsync(reactors: 4);
        QuicListener other = await ListenAsync(Group);
        byte[] datagram = new byte[9];
        int same = 0;
        for (int i = 0; i < 256; i++)
        {
            datagram[1] = (byte)i;
            same += one.Reactors[0].IdRule.EndpointOf(datagram) == other.Reactors[0].IdRule.EndpointOf(datagram) ? 1 : 0;
        }

        Assert.InRange(same, 1, 200);
    }
}
