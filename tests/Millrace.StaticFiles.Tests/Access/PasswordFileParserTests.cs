using System.Text;
using Millrace.StaticFiles.Access;

namespace Millrace.StaticFiles.Tests.Access;

public class PasswordFileParserTests
{
    private static readonly string Hash = TestHash.Of("secret");
    private static readonly string Other = TestHash.Of("other");

    [Fact]
    public void Users_are_read_from_lines_between_comments_and_blanks()
    {
        PasswordTable table = Parse($"# people\n\nann:{Hash}\n  \t\nbob:{Other}\n#carl:{Hash}\n");

        Assert.Equal(2, table.Count);
        Assert.Equal(Hash, HashOf(table, "ann"));
        Assert.Equal(Other, HashOf(table, "bob"));
        Assert.Null(HashOf(table, "carl"));
        Assert.Null(HashOf(table, "#carl"));
        Assert.Null(HashOf(table, "ANN"));
    }

    [Fact]
    public void A_file_may_come_from_windows_and_end_without_a_line_break()
    {
        PasswordTable table = Parse($"\uFEFFann:{Hash}\r\n\r\nbob:{Other}");

        Assert.Equal(Hash, HashOf(table, "ann"));
        Assert.Equal(Other, HashOf(table, "bob"));
        Assert.Equal(2, table.Count);
    }

    [Fact]
    public void What_follows_a_second_colon_is_a_comment() => Assert.Equal(Hash, HashOf(Parse($"ann:{Hash}:Ann Example\n"), "ann"));

    [Fact]
    public void A_name_may_hold_blanks_and_any_bytes_of_utf8() => Assert.Equal(Hash, HashOf(Parse($"Änn Example:{Hash}\n"), "Änn Example"));

    [Fact]
    public void An_empty_file_has_no_users() => Assert.Equal(0, Parse("").Count);

    [Theory]
    [InlineData("ann", "colon")]
    [InlineData(":{0}", "user name")]
    [InlineData("a\u0001n:{0}", "user name")]
    [InlineData("a\u007fn:{0}", "user name")]
    [InlineData("ann:", "no hash")]
    [InlineData("ann:secret", "plain")]
    [InlineData("ann:$apr1$YvTC0Il8$EYT7gbtaKS6fchT/Tu1ZM0", "MD5")]
    [InlineData("ann:{{SHA}}5en6G6MezRroT3XKqkdPOmY/BfQ=", "SHA-1")]
    [InlineData("bob:{0}\nzoe:{0}\nbob:{0}", "repeats the user of line 3")]
    public void A_bad_line_is_refused_with_its_number_cause_and_remedy_but_not_its_hash(string line, string cause)
    {
        string text = $"# one\n\n{string.Format(null, line, Hash)}\n";
        int lineNumber = 2 + line.Split('\n').Length;

        SiteException refused = Assert.Throws<SiteException>(() => Parse(text));

        Assert.StartsWith($"/etc/users:{lineNumber} ", refused.Cause, StringComparison.Ordinal);
        Assert.Contains(cause, refused.Cause, StringComparison.Ordinal);
        Assert.NotEmpty(refused.Remedy);
        string written = text.Split('\n')[lineNumber - 1].Split(':')[^1];
        Assert.DoesNotContain(written.Length > 0 ? written : "$2y$", refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void A_weak_hash_names_the_commands_that_make_a_good_one()
    {
        SiteException refused = Assert.Throws<SiteException>(() => Parse("ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="));

        Assert.Contains("htpasswd -B", refused.Remedy, StringComparison.Ordinal);
        Assert.Contains("mkpasswd", refused.Remedy, StringComparison.Ordinal);
    }

    [Fact]
    public void A_name_may_be_as_long_as_the_limit_and_no_longer()
    {
        string longest = new('a', PasswordFileParser.UserBytesMax);

        Assert.Equal(Hash, HashOf(Parse($"{longest}:{Hash}"), longest));
        Assert.Throws<SiteException>(() => Parse($"{longest}a:{Hash}"));
    }

    private static PasswordTable Parse(string text) =>
        PasswordFileParser.Parse("/etc/users", Encoding.UTF8.GetBytes(text), TestHash.Library);

    private static string? HashOf(PasswordTable table, string user)
    {
        ReadOnlySpan<byte> hash = table.HashOf(Encoding.UTF8.GetBytes(user), out bool isKnown);
        return isKnown ? Encoding.ASCII.GetString(hash) : null;
    }
}
