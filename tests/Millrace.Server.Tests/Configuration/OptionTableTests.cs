using System.Text.RegularExpressions;
using Millrace.Server.Configuration;

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
        Assert.All(option.Choices, choice => Assert.True(option.Accepts(choice), choice));
        if (option.BareValue is { } bare)
        {
            Assert.True(option.Accepts(bare));
        }

        if (option.ValueForm == "on|off")
        {
            Assert.Equal("on", option.BareValue);
        }
    }

    /// <summary>A default in words is not a valid value, and is refused as one.</summary>
    [Theory]
    [MemberData(nameof(Keys))]
    public void Each_default_is_what_holds_without_it(string key)
    {
        ServerOption option = OptionTable.Get(key);
        if (option.Default.Length > 0 && !option.Default.Contains(' ', StringComparison.Ordinal))
        {
            Assert.Equal(Described(new ServeOptions()), Described(option.Apply(new ServeOptions(), option.Default)));
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
            Assert.True(option.Accepts($"{Math.Max(least, 1)}"));
            Assert.False(option.Accepts($"{least - 1}"));
            Assert.False(option.Accepts($"{(UInt128)most + 1}"));
        }
    }

    /// <summary>Each rule that a file may write in parts takes the form that the flag shows.</summary>
    [Theory]
    [InlineData("header", "[path=]name: value", false)]
    [InlineData("redirect", "from to[ status]", false)]
    [InlineData("rewrite", "from to", false)]
    [InlineData("cache-control", "path=value", true)]
    public void A_rule_s_parts_make_the_text_of_the_flag(string key, string form, bool isPair)
    {
        ServerOption option = OptionTable.Get(key);

        Assert.Equal(isPair, option.IsPair);
        Assert.Equal(form, string.Concat(option.Parts.Select(part =>
            part.IsOptional ? $"[{part.Before}{part.Name}{part.After}]" : $"{part.Before}{part.Name}{part.After}")));
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
