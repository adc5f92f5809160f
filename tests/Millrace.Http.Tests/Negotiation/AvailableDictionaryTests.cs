using System.Security.Cryptography;
using System.Text;

namespace Millrace.Http.Tests;

public class AvailableDictionaryTests
{
    private static readonly byte[] Hash = SHA256.HashData("a dictionary"u8);
    private static readonly string Valid = $":{Convert.ToBase64String(Hash)}:";

    [Fact]
    public void A_hash_between_colons_is_read()
    {
        byte[] hash = new byte[AvailableDictionary.HashBytes];
        Assert.True(AvailableDictionary.TryRead(Encoding.ASCII.GetBytes(Valid), hash));
        Assert.Equal(Hash, hash);

        // The example of RFC 9842, section 2.2.
        Assert.True(Reads(":pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG4=:"));
    }

    [Theory]
    [InlineData("")]
    [InlineData(":")]
    [InlineData("::")]
    [InlineData(":pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG4=")]
    [InlineData("pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG4=:")]
    [InlineData("\"pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG4=\"")]
    [InlineData(":pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG4:")]
    [InlineData(":pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG==:")]
    [InlineData(":pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG4A:")]
    [InlineData(":pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG-=:")]
    [InlineData(":pZGm1Av0 EBKARczz7exkNYsZb8LzaMrV7J32a2fFG4=:")]
    [InlineData(":                                            :")]
    [InlineData(":pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG4=:;a=1")]
    [InlineData(":pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG4=:, :pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG4=:")]
    public void Anything_else_names_no_dictionary(string value) => Assert.False(Reads(value));

    [Fact]
    public void Of_mutated_values_only_those_are_read_that_decode_to_a_hash()
    {
        var random = new Random(9842);
        byte[] valid = Encoding.ASCII.GetBytes(Valid);
        byte[] hash = new byte[AvailableDictionary.HashBytes];
        int read = 0;
        for (int i = 0; i < 200_000; i++)
        {
            byte[] value = [.. valid];
            for (int changes = random.Next(1, 4); changes > 0; changes--)
            {
                value[random.Next(value.Length)] = (byte)random.Next(256);
            }

            value = random.Next(4) == 0 ? value[..random.Next(value.Length)] : value;
            if (AvailableDictionary.TryRead(value, hash))
            {
                // Whatever is read is what the sender encoded, but for the four bits of padding.
                string text = Encoding.ASCII.GetString(value);
                Assert.Equal(text[1..43], Convert.ToBase64String(hash)[..42]);
                Assert.Equal((':', ":", 46), (text[0], text[45..], text.Length));
                read++;
            }
        }

        Assert.InRange(read, 1, 199_999);
    }

    private static bool Reads(string value) =>
        AvailableDictionary.TryRead(Encoding.Latin1.GetBytes(value), new byte[AvailableDictionary.HashBytes]);
}
