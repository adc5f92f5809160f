namespace Millrace.Http.Tests;

public class ByteBlockTests
{
    [Fact]
    [Trait("Duration", "Full")]
    public void A_block_agrees_with_the_byte_classes_at_every_place() => Cases.Run(2_000, random =>
    {
        byte[] text = new byte[random.Next(ByteBlock.Bytes, 3 * ByteBlock.Bytes)];
        random.NextBytes(text);
        for (int at = 0; at < text.Length; at++)
        {
            var block = new ByteBlock(text, at);
            Assert.Equal(Math.Min(ByteBlock.Bytes, text.Length - at), block.Count);
            for (int bit = 0; bit < 32; bit++)
            {
                bool inText = bit < block.Count;
                byte value = inText ? text[at + bit] : (byte)0;
                Assert.Equal(inText && !ByteClasses.FieldValue.Contains(value), IsSet(block.Controls, bit));
                Assert.Equal(inText && !ByteClasses.Target.Contains(value), IsSet(block.TargetStops, bit));
                Assert.Equal(inText && value == ':', IsSet(block.EqualTo((byte)':'), bit));
            }
        }
    });

    [Fact]
    public void The_first_control_is_found_from_every_place()
    {
        byte[] text = new byte[150];
        Array.Fill(text, (byte)'\t');
        for (int control = 0; control < text.Length; control++)
        {
            text[control] = 0x1F;
            for (int at = 0; at <= text.Length; at++)
            {
                Assert.Equal(at <= control ? control : text.Length, ByteBlock.FirstControl(text, at));
            }

            text[control] = (byte)'\t';
        }
    }

    private static bool IsSet(uint bits, int bit) => (bits & (1u << bit)) != 0;
}
