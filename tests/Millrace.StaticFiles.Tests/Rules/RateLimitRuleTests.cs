using System.Text;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Tests.Rules;

public class RateLimitRuleTests
{
    [Theory]
    [InlineData("100/s", "100/s", 100, 10_000_000, "\"100/s\";q=100;w=1")]
    [InlineData("100/s burst 200", "100/s", 200, 10_000_000, "\"100/s\";q=100;w=1")]
    [InlineData("  /login   5/m  ", "/login 5/m", 5, 12_000_000_000, "\"/login 5/m\";q=5;w=60")]
    [InlineData("*.php 7/h burst 1", "*.php 7/h", 1, 514_285_714_285, "\"*.php 7/h\";q=7;w=3600")]
    [InlineData("* 1000000/s", "1000000/s", 1_000_000, 1_000, "\"1000000/s\";q=1000000;w=1")]
    [InlineData("/\"a\" 1/s", "/\"a\" 1/s", 1, 1_000_000_000, "\"1/s\";q=1;w=1")]
    [InlineData("/caf\u00e9 1/s", "/caf\u00e9 1/s", 1, 1_000_000_000, "\"1/s\";q=1;w=1")]
    public void A_rule_has_paths_a_rate_and_a_burst(string text, string shown, int burst, long intervalNs, string policy)
    {
        var rule = RateLimitRule.Parse(text);
        Assert.Equal((shown, burst, intervalNs), (rule.Text, rule.Burst, rule.IntervalNs));
        Assert.Equal(policy, Encoding.ASCII.GetString(rule.Policy.Span));
        Assert.Equal(Math.Max(burst * intervalNs, 10_000_000), rule.CapacityNs);
    }

    [Theory]
    [InlineData("", "is not a rate limit")]
    [InlineData("100", "is not a rate limit")]
    [InlineData("100/d", "is not a rate limit")]
    [InlineData("/s", "is not a rate limit")]
    [InlineData("100/s 200", "is not a rate limit")]
    [InlineData("/a /b 100/s", "is not a rate limit")]
    [InlineData("burst 200", "is not a rate limit")]
    [InlineData("100/s burst", "is not a rate limit")]
    [InlineData("0/s", "a number that is not valid")]
    [InlineData("-1/s", "a number that is not valid")]
    [InlineData("1.5/s", "a number that is not valid")]
    [InlineData("1000001/s", "a number that is not valid")]
    [InlineData("1/s burst 0", "a number that is not valid")]
    [InlineData("1/s burst many", "a number that is not valid")]
    public void Another_text_is_refused_with_its_reason(string text, string reason)
    {
        SiteException refusal = Assert.Throws<SiteException>(() => RateLimitRule.Parse(text));
        Assert.Contains(reason, refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Equal_rules_have_one_identity()
    {
        Assert.Equal(RateLimitRule.Parse("100/s").Id, RateLimitRule.Parse("* 100/s burst 100").Id);
        Assert.NotEqual(RateLimitRule.Parse("100/s").Id, RateLimitRule.Parse("100/s burst 101").Id);
        Assert.NotEqual(RateLimitRule.Parse("100/s").Id, RateLimitRule.Parse("/a 100/s").Id);
    }
}
