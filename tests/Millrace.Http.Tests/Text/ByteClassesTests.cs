namespace Millrace.Http.Tests;

public class ByteClassesTests
{
    [Fact]
    public void A_token_is_what_rfc_9110_section_5_6_2_says()
    {
        for (int value = 0; value < 256; value++)
        {
            // VCHAR but the delimiters, as the section puts it in words.
            bool isToken = value is > 0x20 and < 0x7F && !"\"(),/:;<=>?@[\\]{}".Contains((char)value, StringComparison.Ordinal);
            Assert.Equal(isToken, ByteClasses.Token.Contains((byte)value));
        }
    }

    [Fact]
    public void A_reg_name_is_what_rfc_3986_says_but_for_its_escapes()
    {
        for (int value = 0; value < 256; value++)
        {
            // All visible ASCII but gen-delims, '%' and what the RFC leaves out altogether.
            bool isRegName = value is > 0x20 and < 0x7F && !":/?#[]@%\"<>\\^`{|}".Contains((char)value, StringComparison.Ordinal);
            Assert.Equal(isRegName, ByteClasses.RegName.Contains((byte)value));
        }
    }
}
