using System.Text;

namespace Millrace.Http.Tests;

/// <summary>RFC 7617 section 2.</summary>
public class BasicCredentialsTests
{
    // The examples of sections 2 and 2.1.
    [Theory]
    [InlineData("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame")]
    [InlineData("Basic dGVzdDoxMjPCow==", "test", "123\xC2\xA3")]
    [InlineData("basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame")]
    [InlineData("BASIC   QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame")]
    public void The_user_and_the_password_are_decoded(string value, string user, string password)
        => Assert.Equal((user, password), Decode(value));

    [Theory]
    [InlineData("a:b:c", "a", "b:c")]
    [InlineData("a:", "a", "")]
    [InlineData(":b", "", "b")]
    [InlineData(":", "", "")]
    [InlineData("::", "", ":")]
    [InlineData("a b:c d", "a b", "c d")]
    [InlineData("\xFF:\xFE", "\xFF", "\xFE")]
    public void The_first_colon_ends_the_user(string text, string user, string password)
        => Assert.Equal((user, password), Decode(Encode(text)));

    [Theory]
    [InlineData("")]
    [InlineData("Basic")]
    [InlineData("Basic ")]
    [InlineData("Basi")]
    [InlineData("BasicYTpi")]
    [InlineData("Basic\tYTpi")]
    [InlineData("Bearer YTpi")]
    [InlineData("Basicx YTpi")]
    [InlineData(" Basic YTpi")]
    [InlineData("YTpi")]
    [InlineData("Basic YTpi, Basic YTpi")]
    [InlineData("Basic YT pi")]
    [InlineData("Basic YTpi ")]
    [InlineData("Basic \tYTpi")]
    [InlineData("Basic YTpi=")]
    [InlineData("Basic YTo")]
    [InlineData("Basic YTo=YTo=")]
    [InlineData("Basic =")]
    [InlineData("Basic YT*i")]
    [InlineData("Basic user=\"a\"")]
    [InlineData("Basic __86YQ==")]
    public void Anything_that_is_no_token_of_base64_is_refused(string value) => Assert.Null(Decode(value));

    [Theory]
    [InlineData("")]
    [InlineData("ab")]
    public void Credentials_without_a_colon_are_refused(string text) => Assert.Null(Decode(Encode(text)));

    [Fact]
    public void Control_characters_are_refused()
    {
        for (int value = 0; value < 256; value++)
        {
            bool isControl = value is < 0x20 or 0x7F;
            Assert.Equal((value, isControl), (value, Decode(Encode($"a{(char)value}:b")) is null));
            Assert.Equal((value, isControl), (value, Decode(Encode($"a:b{(char)value}")) is null));
        }
    }

    [Fact]
    public void Credentials_longer_than_the_room_are_refused()
    {
        byte[] value = Latin1.Bytes(Encode("user:secret"));
        for (int room = 0; room < 20; room++)
        {
            Assert.Equal((room, room >= 11), (room, BasicCredentials.TryDecode(value, new byte[room], out _, out _)));
        }
    }

    [Fact]
    public void Whatever_is_encoded_is_decoded() => Cases.Run(5_000, random =>
    {
        byte[] bytes = new byte[random.Next(60)];
        random.NextBytes(bytes);
        string text = new([.. bytes.Select(value => value is < 0x20 or 0x7F ? ':' : (char)value)]);
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        Assert.Equal(colon < 0 ? null : (text[..colon], text[(colon + 1)..]), Decode(Encode(text)));
    });

    private static string Encode(string text) => "Basic " + Convert.ToBase64String(Encoding.Latin1.GetBytes(text));

    private static (string User, string Password)? Decode(string value)
    {
        bool decoded = BasicCredentials.TryDecode(
            Latin1.Bytes(value), new byte[100], out ReadOnlySpan<byte> user, out ReadOnlySpan<byte> password);
        Assert.True(decoded || (user.IsEmpty && password.IsEmpty));
        return decoded ? (Latin1.Text(user), Latin1.Text(password)) : null;
    }
}
