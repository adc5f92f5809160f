using System.Buffers.Binary;
using System.Numerics;
using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Connections;

/// <summary>
/// What ids show of the endpoint that they name, to those who do not know the key (RFC 9000, section 5.1). All is seeded: bounds are of
/// five standard deviations, so that another seed passes as well.
/// </summary>
public class IdUnlinkabilityTests
{
    private const double Deviations = 5;

    private static readonly ConnectionIdCipher Cipher = new(KeyOf(1));

    [Theory]
    [Trait("Rfc", "9000-5.1")]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(8)]
    public void Ids_of_one_connection_have_no_more_in_common_than_ids_of_others(int endpoints)
    {
        const int Pairs = 40_000;
        TestCryptography cryptography = new(11);
        int[] bits = new int[64];
        int[] remainders = new int[8];
        int differences = 0;
        for (int i = 0; i < Pairs; i++)
        {
            ConnectionIdRule rule = new(endpoints, i % endpoints, Cipher);
            byte[] one = EndpointTable.CreateRandom(cryptography, rule).AsSpan.ToArray();
            byte[] other = EndpointTable.CreateRandom(cryptography, rule).AsSpan.ToArray();
            ulong same = ~(BinaryPrimitives.ReadUInt64LittleEndian(one) ^ BinaryPrimitives.ReadUInt64LittleEndian(other));
            for (int bit = 0; bit < bits.Length; bit++)
            {
                bits[bit] += (int)((same >> bit) & 1);
            }

            for (int at = 0; at < remainders.Length; at++)
            {
                remainders[at] += one[at] % endpoints == other[at] % endpoints ? 1 : 0;
            }

            differences += BitOperations.PopCount(same) % 2;
        }

        Assert.All(bits, count => AssertIsChance(count, Pairs, 0.5));
        Assert.All(remainders, count => AssertIsChance(count, Pairs, ChanceOfSameRemainder(endpoints)));
        AssertIsChance(differences, Pairs, 0.5);
    }

    /// <summary>An observer who knows the endpoints of some ids, as by response times, solves equations for the key: no key fits.</summary>
    [Fact]
    [Trait("Rfc", "9000-5.1")]
    public void No_linear_function_of_ids_finds_the_endpoint()
    {
        const int Others = 20_000;
        TestCryptography cryptography = new(12);
        List<UInt128> equations = [];
        for (int i = 0; equations.Count < 65; i++)
        {
            // A row: the bits of the id, a constant bit, and the endpoint's bit.
            UInt128 row = RowOf(cryptography, i % 2);
            foreach (UInt128 pivot in equations)
            {
                row = UInt128.Min(row, row ^ pivot);
            }

            if (row >> 1 != 0)
            {
                equations.Add(row);
                equations.Sort(static (one, other) => other.CompareTo(one));
            }
        }

        int found = 0;
        for (int i = 0; i < Others; i++)
        {
            UInt128 row = RowOf(cryptography, i % 2);
            foreach (UInt128 pivot in equations)
            {
                row = UInt128.Min(row, row ^ pivot);
            }

            found += row == 0 ? 1 : 0;
        }

        AssertIsChance(found, Others, 0.5);
    }

    /// <summary>
    /// A client may choose ids that differ in one bit, and see where they lead: whether another such pair leads to one endpoint is not
    /// known from that.
    /// </summary>
    [Fact]
    public void Ids_that_differ_in_one_bit_lead_to_the_same_endpoint_no_more_often_than_others()
    {
        const int Pairs = 4_000;
        Random random = new(3);
        byte[] id = new byte[EndpointTable.IdLength];
        for (int bit = 0; bit < 64; bit++)
        {
            int same = 0;
            for (int i = 0; i < Pairs; i++)
            {
                random.NextBytes(id);
                uint one = Cipher.NumberOf(id);
                id[bit / 8] ^= (byte)(1 << (bit % 8));
                same += one % 4 == Cipher.NumberOf(id) % 4 ? 1 : 0;
            }

            AssertIsChance(same, Pairs, 0.25);
        }
    }

    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(64)]
    public void Random_ids_of_clients_are_distributed_evenly(int endpoints)
    {
        const int Ids = 100_000;
        Random random = new(4);
        ConnectionIdRule rule = new(endpoints, 0, Cipher);
        int[] counts = new int[endpoints];
        byte[] datagram = new byte[20];
        for (int i = 0; i < Ids; i++)
        {
            random.NextBytes(datagram);
            datagram[0] = 0xC0;
            counts[rule.EndpointOf(datagram)]++;
        }

        Assert.All(counts, count => AssertIsChance(count, Ids, 1.0 / endpoints));
    }

    /// <summary>Also those that count up.</summary>
    [Fact]
    public void Ids_of_clients_that_are_not_random_are_distributed_evenly()
    {
        const int Ids = 40_000;
        ConnectionIdRule rule = new(4, 0, Cipher);
        int[] counts = new int[4];
        byte[] datagram = new byte[9];
        for (int i = 0; i < Ids; i++)
        {
            BinaryPrimitives.WriteInt64BigEndian(datagram.AsSpan(1), i);
            counts[rule.EndpointOf(datagram)]++;
        }

        Assert.All(counts, count => AssertIsChance(count, Ids, 0.25));
    }

    [Fact]
    public void A_number_has_one_id_for_each_random_word()
    {
        Random random = new(5);
        Span<byte> id = stackalloc byte[EndpointTable.IdLength];
        HashSet<ConnectionId> seen = [];
        for (int i = 0; i < 1_000; i++)
        {
            uint number = (uint)random.NextInt64(1L << 32);
            Cipher.Write(number, (uint)i, id);
            Assert.Equal(number, Cipher.NumberOf(id));
            Assert.True(seen.Add(new ConnectionId(id)));
        }
    }

    private static UInt128 RowOf(TestCryptography cryptography, int endpoint)
    {
        ConnectionId id = EndpointTable.CreateRandom(cryptography, new ConnectionIdRule(2, endpoint, Cipher));
        return ((UInt128)BinaryPrimitives.ReadUInt64BigEndian(id.AsSpan) << 2) | 2 | (uint)endpoint;
    }

    /// <summary>A byte has 256 values, of which the first remainders have one more than the others.</summary>
    private static double ChanceOfSameRemainder(int endpoints) => Enumerable.Range(0, endpoints)
        .Select(remainder => ((256 - remainder + endpoints - 1) / endpoints) / 256.0)
        .Sum(static part => part * part);

    private static void AssertIsChance(int count, int of, double chance)
    {
        double deviation = Math.Sqrt(of * chance * (1 - chance));
        Assert.InRange(count, (of * chance) - (Deviations * deviation), (of * chance) + (Deviations * deviation));
    }

    private static uint[] KeyOf(int seed)
    {
        Random random = new(seed);
        return [.. Enumerable.Range(0, ConnectionIdCipher.KeyWords).Select(_ => (uint)random.NextInt64(1L << 32))];
    }
}
