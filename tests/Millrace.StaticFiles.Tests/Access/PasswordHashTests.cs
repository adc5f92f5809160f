using System.Text;
using Millrace.StaticFiles.Access;

namespace Millrace.StaticFiles.Tests.Access;

public class PasswordHashTests
{
    public static TheoryData<string> Taken =>
    [
        TestHash.Of("secret", "$2a$04$CCCCCCCCCCCCCCCCCCCCC."),
        TestHash.Of("secret", "$2b$04$CCCCCCCCCCCCCCCCCCCCC."),
        TestHash.Of("secret", TestHash.Bcrypt),
        TestHash.Of("secret", TestHash.Sha512),
        TestHash.Of("secret", TestHash.Sha256),
        TestHash.Of("secret", TestHash.Yescrypt),
        TestHash.Of("secret", "$6$saltstring"),
        TestHash.Of("secret", "$5$0123456789abcdef"),
        "$y$j9T$h6Bmt6iKVkwbaQLg4oMCJ1$ZIIXsQjRebrWbKCcXHrxCfD1F5bUCGHp.5eswAul8cB",
    ];

    [Theory]
    [MemberData(nameof(Taken))]
    public void A_slow_salted_hash_is_taken(string hash) => Assert.Null(RefusalOf(hash));

    [Theory]
    [MemberData(nameof(Taken))]
    public void A_hash_that_lost_or_gained_a_character_anywhere_is_refused(string hash)
    {
        for (int length = 0; length < hash.Length; length++)
        {
            Assert.NotNull(RefusalOf(hash[..length]));
        }

        Assert.NotNull(RefusalOf(hash + "a"));
        Assert.NotNull(RefusalOf(hash[..^1] + "!"));
        Assert.NotNull(RefusalOf(hash[..^5] + "\n" + hash[^4..]));
    }

    [Theory]
    [InlineData("$apr1$YvTC0Il8$EYT7gbtaKS6fchT/Tu1ZM0", "MD5")]
    [InlineData("$1$JUPPYeu1$oY.xJGnr41hibhq8LNVwx/", "MD5")]
    [InlineData("{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=", "SHA-1")]
    [InlineData("{SSHA}5en6G6MezRroT3XKqkdPOmY/BfQ=", "unknown kind")]
    [InlineData("$2x$04$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "unknown kind")]
    [InlineData("$7$CU..../....ITpWtDRDRJ/BOKjLRHDRj1$VLkVFYGDV0i7pFOXoFhIPBP40t7i/8ujTZGb6l0Z7S9", "unknown kind")]
    [InlineData("rqXexS6ZhobKA", "DES")]
    [InlineData("secret", "plain")]
    [InlineData("!$6$saltstring$", "locked")]
    [InlineData("*", "locked")]
    [InlineData("", "no hash")]
    public void A_hash_that_is_weak_or_none_is_refused_by_its_name(string hash, string named) =>
        Assert.Contains(named, RefusalOf(hash), StringComparison.Ordinal);

    [Theory]
    [InlineData("$2y$03$")]
    [InlineData("$2y$32$")]
    [InlineData("$2y$+5$")]
    [InlineData("$2y$ 5$")]
    public void Bcrypt_of_a_cost_it_does_not_have_is_refused(string prefix) =>
        Assert.NotNull(RefusalOf(prefix + TestHash.Of("secret")[7..]));

    [Theory]
    [InlineData("rounds=999$")]
    [InlineData("rounds=1000000000$")]
    [InlineData("rounds=+1000$")]
    [InlineData("rounds=$")]
    [InlineData("rounds=99999999999999999999$")]
    [InlineData("0123456789abcdefg$")]
    public void Sha_with_rounds_or_salt_it_does_not_have_is_refused(string setting) =>
        Assert.NotNull(RefusalOf("$6$" + setting + TestHash.Of("secret", TestHash.Sha512)[^86..]));

    private static string? RefusalOf(string hash) => PasswordHash.RefusalOf(Encoding.Latin1.GetBytes(hash));
}
