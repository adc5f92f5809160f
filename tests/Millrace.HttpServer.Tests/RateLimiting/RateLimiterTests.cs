using System.Net;
using Millrace.HttpServer.RateLimiting;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Tests.RateLimiting;

/// <summary>Which requests count for which client and rule.</summary>
public class RateLimiterTests
{
    private const long NowMs = 1_000_000;

    private readonly RateLimiter _limiter = new(64 * 1024);
    private readonly PlanScratch _scratch = new();

    [Theory]
    [InlineData("192.0.2.1", "192.0.2.1", false)]
    [InlineData("192.0.2.1", "::ffff:192.0.2.1", false)]
    [InlineData("192.0.2.1", "192.0.2.2", true)]
    [InlineData("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", false)]
    [InlineData("2001:db8:1:2::1", "2001:db8:1:3::1", true)]
    [InlineData("127.0.0.1", "::1", true)]
    [InlineData("127.0.0.1", "127.0.0.1", false)]
    public void A_client_is_an_IPv4_address_or_a_64_of_IPv6(string first, string second, bool isAnother)
    {
        RateLimitRules rules = Rules("1/h");
        Assert.True(Admits(rules, first, "/"));
        Assert.Equal(isAnother, Admits(rules, second, "/"));
    }

    [Fact]
    public void A_client_without_an_address_has_no_limit()
    {
        RateLimitRules rules = Rules("1/h");
        for (int i = 0; i < 10; i++)
        {
            Assert.Null(_limiter.Exceeded(rules, client: null, default, NowMs, out _));
        }
    }

    [Fact]
    public void A_request_counts_for_each_rule_that_matches_and_a_refused_one_for_none()
    {
        RateLimitRules rules = Rules("5/h", "/login 2/h");
        Assert.True(Admits(rules, "192.0.2.1", "/login"));
        Assert.True(Admits(rules, "192.0.2.1", "/login"));
        for (int i = 0; i < 10; i++)
        {
            Assert.Equal("/login 2/h", Exceeded(rules, "192.0.2.1", "/login"));
        }

        // The refused ones would have used this up.
        for (int i = 0; i < 3; i++)
        {
            Assert.True(Admits(rules, "192.0.2.1", "/"));
        }

        Assert.Equal("5/h", Exceeded(rules, "192.0.2.1", "/"));
        Assert.Equal(11, _limiter.Refused);
    }

    [Theory]
    [InlineData("/login", "/login")]
    [InlineData("/login", "/LOGIN")]
    [InlineData("/login", "/login/")]
    [InlineData("/login", "//login")]
    [InlineData("/login", "/%6cogin")]
    [InlineData("/login", "/a/../login")]
    [InlineData("/api/*", "/api/users/1")]
    [InlineData("*.php", "/x/y.php")]
    public void No_spelling_of_a_path_leads_around_a_rule(string glob, string path)
    {
        RateLimitRules rules = Rules($"{glob} 1/h");
        Assert.True(Admits(rules, "192.0.2.1", path));
        Assert.False(Admits(rules, "192.0.2.1", path));
        Assert.True(Admits(rules, "192.0.2.1", "/other"));
    }

    [Fact]
    public void Equal_rules_count_together_also_after_a_reload()
    {
        Assert.True(Admits(Rules("1/h"), "192.0.2.1", "/"));
        Assert.False(Admits(Rules("1/h"), "192.0.2.1", "/"));
        Assert.False(Admits(Rules("* 1/h burst 1"), "192.0.2.1", "/"));
        Assert.True(Admits(Rules("1/m"), "192.0.2.1", "/"));
        Assert.True(Admits(Rules("1/h burst 2"), "192.0.2.1", "/"));
        Assert.True(Admits(Rules("/* 1/h"), "192.0.2.1", "/"));
    }

    [Fact]
    public void The_seconds_to_wait_are_rounded_up()
    {
        RateLimitRules rules = Rules("40/m burst 1");
        Assert.True(Admits(rules, "192.0.2.1", "/"));
        Assert.NotNull(_limiter.Exceeded(rules, IPAddress.Parse("192.0.2.1"), default, NowMs, out long seconds));
        Assert.Equal(2, seconds);
        Assert.NotNull(_limiter.Exceeded(rules, IPAddress.Parse("192.0.2.1"), default, NowMs + 1_499, out seconds));
        Assert.Equal(1, seconds);
        Assert.Null(_limiter.Exceeded(rules, IPAddress.Parse("192.0.2.1"), default, NowMs + 1_500, out seconds));
    }

    [Fact]
    public void A_bucket_holds_what_is_refilled_within_a_step_of_the_clock()
    {
        RateLimitRules rules = Rules("1000/s burst 1");
        int admitted = 0;
        for (long ms = NowMs; ms < NowMs + 1_000; ms += 10)
        {
            for (int i = 0; i < 50; i++)
            {
                admitted += _limiter.Exceeded(rules, IPAddress.Loopback, default, ms, out _) is null ? 1 : 0;
            }
        }

        Assert.Equal(1_000, admitted);
    }

    [Fact]
    public void A_million_requests_allocate_nothing()
    {
        RateLimitRules rules = Rules("1000/s", "/login 1/h");
        IPAddress client = IPAddress.Parse("2001:db8::1");
        Assert.Null(_limiter.Exceeded(rules, client, default, NowMs, out _));
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < 1_000_000; i++)
        {
            _ = _limiter.Exceeded(rules, client, default, NowMs + i, out _);
        }

        Assert.Equal(before, GC.GetAllocatedBytesForCurrentThread());
    }

    private static RateLimitRules Rules(params IEnumerable<string> texts) =>
        RateLimitRules.Of(new SiteOptions { Root = "/", RateLimits = [.. texts.Select(RateLimitRule.Parse)] })!;

    private bool Admits(RateLimitRules rules, string client, string target) => Exceeded(rules, client, target) is null;

    private string? Exceeded(RateLimitRules rules, string client, string target)
    {
        var decoded = DecodedPath.Decode(System.Text.Encoding.ASCII.GetBytes(target), mergeSlashes: true, _scratch);
        var path = new PathReadings(decoded.ForAccess, _scratch);
        return _limiter.Exceeded(rules, IPAddress.Parse(client), path, NowMs, out _)?.Text;
    }
}
