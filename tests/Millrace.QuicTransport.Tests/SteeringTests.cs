using Millrace.Quic.Connections;

namespace Millrace.QuicTransport.Tests;

/// <summary>Which endpoint of several an id and a datagram belong to.</summary>
public class SteeringTests
{
    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(7)]
    [InlineData(200)]
    [InlineData(256)]
    public void The_first_byte_of_an_id_names_its_endpoint(int endpoints)
    {
        for (int index = 0; index < endpoints; index++)
        {
            ConnectionIdRule rule = new(endpoints, index);
            for (int first = 0; first <= byte.MaxValue; first++)
            {
                byte[] id = [(byte)first, 1, 2];
                rule.Apply(id);
                Assert.Equal(index, id[0] % endpoints);
                Assert.Equal(index, rule.EndpointOf([0x40, .. id]));
                Assert.Equal(index, rule.EndpointOf([0xC0, 0, 0, 0, 1, 3, .. id]));
            }
        }
    }

    [Fact]
    public void An_id_of_a_single_endpoint_stays_random()
    {
        byte[] id = [77, 1];
        default(ConnectionIdRule).Apply(id);
        Assert.Equal(77, id[0]);
        Assert.Equal(0, default(ConnectionIdRule).EndpointOf([0x40, 5]));
    }

    [Fact]
    public void A_datagram_that_is_too_short_for_an_id_belongs_to_where_it_arrived()
    {
        ConnectionIdRule rule = new(4, 2);
        Assert.Equal(2, rule.EndpointOf([]));
        Assert.Equal(2, rule.EndpointOf([0x40]));
        Assert.Equal(2, rule.EndpointOf([0xC0, 0, 0, 0, 1, 8]));
    }
}
