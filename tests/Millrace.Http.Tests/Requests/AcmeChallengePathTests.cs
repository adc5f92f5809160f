using System.Text;

namespace Millrace.Http.Tests.Requests;

public class AcmeChallengePathTests
{
    private const string Prefix = "/.well-known/acme-challenge/";

    [Theory]
    [InlineData(Prefix + "aZ0-_token", "aZ0-_token")]
    [InlineData(Prefix, null)]
    [InlineData("/.well-known/acme-challenge", null)]
    [InlineData(Prefix + "a/b", null)]
    [InlineData(Prefix + "..", null)]
    [InlineData(Prefix + "%61", null)]
    [InlineData(Prefix + "\u00e4", null)]
    [InlineData("/.WELL-KNOWN/acme-challenge/a", null)]
    [InlineData("/a" + Prefix + "a", null)]
    [InlineData("", null)]
    public void A_token_is_one_segment_of_Base64Url(string path, string? token)
    {
        Assert.Equal(token, AcmeChallengePath.TokenOf(path));
        Assert.Equal(token, AcmeChallengePath.TokenOf(Encoding.UTF8.GetBytes(path)));
    }

    [Theory]
    [InlineData(256, true)]
    [InlineData(257, false)]
    public void A_token_has_a_limit(int length, bool isToken) =>
        Assert.Equal(isToken, AcmeChallengePath.TokenOf(Prefix + new string('a', length)) is not null);
}
