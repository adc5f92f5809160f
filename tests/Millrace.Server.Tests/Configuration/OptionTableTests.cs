using System.Text.RegularExpressions;
using Millrace.Server.Configuration;
using Millrace.Server.Configuration.Files;

namespace Millrace.Server.Tests.Configuration;

public class OptionTableTests
{
    public static TheoryData<string> Keys => [.. OptionTable.All.Select(option => option.Key)];

    [Fact]
    public void Keys_paths_and_variables_are_unique()
    {
        Assert.Equal(OptionTable.All.Count, OptionTable.All.Select(option => option.Key).Distinct().Count());
        Assert.Equal(OptionTable.All.Count, OptionTable.All.Select(option => option.Path).Distinct().Count());
        Assert.Equal(OptionTable.All.Count, OptionTable.All.Select(option => option.Variable).Distinct().Count());
        foreach (ServerOption option in OptionTable.All)
        {
            Assert.DoesNotContain(OptionTable.All, other => other.Path.StartsWith($"{option.Path}.", StringComparison.Ordinal));
        }
    }

    [Theory]
    [MemberData(nameof(Keys))]
    public void Each_option_is_explained_and_its_words_are_values(string key)
    {
        ServerOption option = OptionTable.Get(key);

        Assert.Matches("^[a-z][a-z0-9-]*[a-z0-9]$", option.Key);
        Assert.Matches(@"^([a-z]+\.)?[a-z][a-z0-9-]*[a-z0-9]$", option.Path);
        Assert.Matches(@"^[A-Z].*[^.]\.$", option.Help);
        Assert.NotEmpty(option.ValueForm);
        Assert.All(option.Choices, choice => Assert.True(option.TryApply(new ServeOptions(), choice, out _, out _), choice));
        if (option.BareValue is { } bare)
        {
            Assert.True(option.TryApply(new ServeOptions(), bare, out _, out _));
        }

        if (option.ValueForm == "on|off")
        {
            Assert.Equal("on", option.BareValue);
        }
    }

    /// <summary>Words that are no value say who decides: then the text is refused, and no default that is none goes unseen.</summary>
    [Theory]
    [MemberData(nameof(Keys))]
    public void Each_default_is_what_holds_without_it(string key)
    {
        ServerOption option = OptionTable.Get(key);
        if (option.Default.Length > 0 && !option.Default.Contains(' ', StringComparison.Ordinal))
        {
            Assert.True(option.TryApply(new ServeOptions(), option.Default, out ServeOptions? applied, out _), option.Default);
            Assert.Equal(Described(new ServeOptions()), Described(applied));
        }
    }

    /// <summary>Lists apart, of which a record shows no more than the type.</summary>
    private static string Described(ServeOptions options) => Regex.Replace($"{options}", @"IndexNames = [^,]*", "");

    [Theory]
    [MemberData(nameof(Keys))]
    public void A_number_out_of_its_range_is_refused(string key)
    {
        ServerOption option = OptionTable.Get(key);
        if (option.Range is var (least, most) && option.Key != "hsts")
        {
            Assert.True(option.TryApply(new ServeOptions(), $"{Math.Max(least, 1)}", out _, out _));
            Assert.False(option.TryApply(new ServeOptions(), $"{least - 1}", out _, out _));
            Assert.False(option.TryApply(new ServeOptions(), $"{(UInt128)most + 1}", out _, out _));
        }
    }

    [Fact]
    public void A_template_s_parts_make_the_text_of_the_flag()
    {
        RuleTemplate header = RuleTemplate.Parse("[{path}=]{name}: {value}");
        Assert.False(header.IsPair);
        Assert.Equal("X: y", header.Join(new Dictionary<string, string> { ["name"] = "X", ["value"] = "y" }));
        Assert.Equal("/a=X: y", header.Join(new Dictionary<string, string> { ["value"] = "y", ["name"] = "X", ["path"] = "/a" }));
        RuleTemplate redirect = RuleTemplate.Parse("{from} {to}[ {status}]");
        Assert.Equal(["from", "to"], redirect.Parts.Where(part => !part.IsOptional).Select(part => part.Name));
        Assert.Equal("/a /b 302", redirect.Join(new Dictionary<string, string> { ["from"] = "/a", ["to"] = "/b", ["status"] = "302" }));
        Assert.True(RuleTemplate.Parse("{a}={b}").IsPair);
    }

    [Theory]
    [InlineData("lisen", "listen")]
    [InlineData("cachecontrol", "cache-control")]
    [InlineData("chache-control", "cache-control")]
    [InlineData("CacheControl", "cache-control")]
    [InlineData("lsiten", "listen")]
    [InlineData("port", null)]
    [InlineData("x", null)]
    [InlineData("", null)]
    public void A_misspelt_name_is_guessed_only_if_it_is_near(string word, string? expected) =>
        Assert.Equal(expected, SpellingSuggestion.Nearest(word, OptionTable.All.Select(option => option.Key)));
}
