namespace Millrace.Http.Tests;

/// <summary>RFC 9218 section 4.</summary>
public class StreamPriorityTests
{
    [Theory]
    [InlineData("", 3, Delivery.Whole)]
    [InlineData("u=0", 0, Delivery.Whole)]
    [InlineData("u=7", 7, Delivery.Whole)]
    [InlineData("i", 3, Delivery.Incremental)]
    [InlineData("u=5, i", 5, Delivery.Incremental)]
    [InlineData("i,u=1", 1, Delivery.Incremental)]
    [InlineData(" u=2 ,\ti ", 2, Delivery.Incremental)]
    [InlineData("i=?1", 3, Delivery.Incremental)]
    [InlineData("i=?0", 3, Delivery.Whole)]
    [InlineData("u=2;a=b, i;c", 2, Delivery.Incremental)]
    [InlineData("u=1, u=4", 4, Delivery.Whole)]
    [InlineData("i, i=?0", 3, Delivery.Whole)]
    internal void What_is_asked_for_is_read(string value, int urgency, Delivery delivery) =>
        Assert.Equal(new StreamPriority(urgency, delivery), StreamPriority.Parse(Latin1.Bytes(value)));

    // Section 4: unknown parameters, parameters with out-of-range values, or values of unexpected types MUST be ignored.
    [Theory]
    [InlineData("u=8")]
    [InlineData("u=-1")]
    [InlineData("u=1.5")]
    [InlineData("u")]
    [InlineData("u=?1")]
    [InlineData("u=\"1\"")]
    [InlineData("i=1")]
    [InlineData("i=?2")]
    [InlineData("x=\"a,u=1,i\"")]
    [InlineData("U=1, I")]
    [InlineData(",")]
    [InlineData("u=1,,i")]
    [InlineData("u=1,")]
    public void What_is_not_understood_says_nothing(string value) =>
        Assert.Equal(StreamPriority.Default, StreamPriority.Parse(Latin1.Bytes(value)));
}
