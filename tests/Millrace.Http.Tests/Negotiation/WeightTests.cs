using System.Globalization;

namespace Millrace.Http.Tests;

/// <summary>RFC 9110 section 12.4.2.</summary>
public class WeightTests
{
    [Fact]
    public void Every_number_from_0_to_1_with_up_to_three_decimals_is_a_weight()
    {
        for (int thousandths = 0; thousandths <= 1000; thousandths++)
        {
            string text = (thousandths / 1000m).ToString("0.000", CultureInfo.InvariantCulture);
            for (; text.Length >= 1; text = text[..^1])
            {
                Assert.Equal((text, thousandths), (text, Read("q=" + text)));
                Assert.Equal((text, thousandths), (text, Read("Q=" + text)));
                if (!text.EndsWith('0') && !text.EndsWith('.'))
                {
                    break;
                }
            }
        }
    }

    [Theory]
    [InlineData("")]
    [InlineData("q")]
    [InlineData("q=")]
    [InlineData("=1")]
    [InlineData("x=1")]
    [InlineData("qq=1")]
    [InlineData("q =1")]
    [InlineData("q= 1")]
    [InlineData("q=1 ")]
    [InlineData("q=.5")]
    [InlineData("q=-1")]
    [InlineData("q=+1")]
    [InlineData("q=2")]
    [InlineData("q=01")]
    [InlineData("q=10")]
    [InlineData("q=1.001")]
    [InlineData("q=1.1")]
    [InlineData("q=0.1234")]
    [InlineData("q=1.0000")]
    [InlineData("q=0,5")]
    [InlineData("q=0.5.")]
    [InlineData("q=0..5")]
    [InlineData("q=0.x")]
    [InlineData("q=0.1x")]
    [InlineData("q=1e0")]
    [InlineData("q=\"1\"")]
    [InlineData("q=0.5;x=1")]
    [InlineData("q=x")]
    public void Anything_else_is_no_weight(string text) => Assert.Null(Read(text));

    private static int? Read(string text) => Weight.TryRead(Latin1.Bytes(text), out int weight) ? weight : null;
}
