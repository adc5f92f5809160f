using Millrace.Quic.Packets;

namespace Millrace.Quic.Tests.Packets;

public class VariableLengthIntegerTests
{
    [Theory]
    [Trait("Rfc", "9000-16")]
    [InlineData("C2197C5EFF14E88C", 151_288_809_941_952_652)]
    [InlineData("9D7F3E7D", 494_878_333)]
    [InlineData("7BBD", 15_293)]
    [InlineData("25", 37)]
    [InlineData("4025", 37)]
    public void The_examples_of_appendix_a_are_read(string bytes, long value)
    {
        Assert.True(VariableLengthInteger.TryRead([.. Convert.FromHexString(bytes), 0xFF], out long read, out int count));
        Assert.Equal(value, read);
        Assert.Equal(bytes.Length / 2, count);
    }

    [Theory]
    [Trait("Rfc", "9000-16")]
    [InlineData(0, 1)]
    [InlineData(63, 1)]
    [InlineData(64, 2)]
    [InlineData(16_383, 2)]
    [InlineData(16_384, 4)]
    [InlineData(1_073_741_823, 4)]
    [InlineData(1_073_741_824, 8)]
    [InlineData(VariableLengthInteger.Max, 8)]
    public void A_value_takes_the_fewest_bytes_and_comes_back(long value, int length)
    {
        var bytes = new byte[VariableLengthInteger.MaximumLength];

        Assert.Equal(length, VariableLengthInteger.Length(value));
        Assert.Equal(length, VariableLengthInteger.Write(bytes, value));
        Assert.True(VariableLengthInteger.TryRead(bytes, out long read, out int count));
        Assert.Equal((value, length), (read, count));
        for (int cut = 0; cut < length; cut++)
        {
            Assert.False(VariableLengthInteger.TryRead(bytes.AsSpan(0, cut), out _, out count));
            Assert.Equal(0, count);
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(4)]
    [InlineData(8)]
    public void A_value_can_take_more_bytes_than_it_needs(int length)
    {
        var bytes = new byte[length];
        VariableLengthInteger.Write(bytes, 37, length);

        Assert.True(VariableLengthInteger.TryRead(bytes, out long value, out int count));
        Assert.Equal((37, length), (value, count));
    }
}
