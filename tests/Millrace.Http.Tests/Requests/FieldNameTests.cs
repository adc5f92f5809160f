using System.Text;
using System.Text.RegularExpressions;

namespace Millrace.Http.Tests;

public class FieldNameTests
{
    public static TheoryData<string> KnownNames
        => [.. Enum.GetNames<FieldName>().Skip(1).Select(name => Regex.Replace(name, "(?<!^)([A-Z])", "-$1"))];

    [Theory]
    [MemberData(nameof(KnownNames))]
    public void A_name_is_recognized_in_any_case(string name)
    {
        FieldName known = Enum.Parse<FieldName>(name.Replace("-", "", StringComparison.Ordinal));
        Assert.Equal(known, Recognize(name));
        Assert.Equal(known, Recognize(name.ToLowerInvariant()));
        Assert.Equal(known, Recognize(name.ToUpperInvariant()));
    }

    [Theory]
    [MemberData(nameof(KnownNames))]
    public void A_name_with_any_other_byte_anywhere_is_another_name(string name)
    {
        // Most of all those that a careless mask makes equal: '\r' and '-' differ by the bit that makes letters small.
        for (int at = 0; at < name.Length; at++)
        {
            for (int value = 0; value < 256; value++)
            {
                byte[] bytes = Encoding.ASCII.GetBytes(name);
                bytes[at] = (byte)value;
                bool isSame = char.ToLowerInvariant((char)value) == char.ToLowerInvariant(name[at]) && value < 0x80;
                Assert.Equal(isSame, FieldNames.Recognize(bytes) == Recognize(name));
            }
        }
    }

    [Theory]
    [InlineData("")]
    [InlineData("H")]
    [InlineData("Hos")]
    [InlineData("Hosts")]
    [InlineData("Content-Lengt")]
    [InlineData("Content-Length-")]
    [InlineData("Sec-Fetch-Dest")]
    public void Another_name_is_unknown(string name) => Assert.Equal(FieldName.Unknown, Recognize(name));

    [Fact]
    public void The_names_that_frame_a_message_come_first()
    {
        FieldName[] framing = [FieldName.Host, FieldName.Connection, FieldName.ContentLength, FieldName.TransferEncoding, FieldName.Expect];
        Assert.Equal(framing, Enum.GetValues<FieldName>().Where(MessageFraming.Reads));
    }

    [Fact]
    public void There_is_a_bit_for_every_name() => Assert.True(Enum.GetValues<FieldName>().Length <= 64);

    private static FieldName Recognize(string name) => FieldNames.Recognize(Encoding.ASCII.GetBytes(name));
}
