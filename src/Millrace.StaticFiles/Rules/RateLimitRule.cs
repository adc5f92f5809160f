using System.Globalization;
using System.IO.Hashing;
using System.Text;
using Millrace.StaticFiles.Access;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// How many requests each client may send to some paths: a token bucket, which holds <see cref="Burst"/> requests and is refilled at a
/// rate. Immutable.
/// </summary>
internal sealed class RateLimitRule
{
    public const string Form = "'100/s', '100/s burst 200' or '/login 5/m': requests per s, m or h, and how many at once";

    private const int RequestsMax = 1_000_000;
    private const long NanosecondsPerSecond = 1_000_000_000;

    /// <summary>
    /// The step of the clock that requests are counted by: a bucket holds at least what is refilled within it, as the rate could not be
    /// reached otherwise.
    /// </summary>
    private const long ClockStepNs = 10_000_000;

    private RateLimitRule(string glob, string rate, int requests, int windowSeconds, int burst)
    {
        Pattern = AccessPattern.Parse(glob);
        Burst = burst;
        IntervalNs = windowSeconds * NanosecondsPerSecond / requests;
        CapacityNs = Math.Max(burst * IntervalNs, ClockStepNs);
        Text = (Pattern.IsForAll ? "" : glob + " ") + rate;
        Id = XxHash3.HashToUInt64(Encoding.UTF8.GetBytes(string.Create(CultureInfo.InvariantCulture, $"{Text} burst {burst}")));

        // A name of the fields is printable ASCII (RFC 9651, section 3.3.3).
        string name = Text.AsSpan().ContainsAnyExceptInRange(' ', '~') || Text.AsSpan().ContainsAny('"', '\\') ? rate : Text;
        PolicyName = Encoding.ASCII.GetBytes($"\"{name}\"");
        Policy = Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"\"{name}\";q={requests};w={windowSeconds}"));
    }

    /// <summary>The paths, and the rate: <c>/login 5/m</c>.</summary>
    public string Text { get; }

    public AccessPattern Pattern { get; }

    /// <summary>The requests that a client may send at once if it has sent none for a while.</summary>
    public int Burst { get; }

    /// <summary>After how long a bucket holds one request more.</summary>
    public long IntervalNs { get; }

    /// <summary>After how long an empty bucket is full.</summary>
    public long CapacityNs { get; }

    /// <summary>The same for equal rules, which therefore count together, also after a reload.</summary>
    public ulong Id { get; }

    /// <summary>The name of the policy in the RateLimit fields, in quotes.</summary>
    public ReadOnlyMemory<byte> PolicyName { get; }

    /// <summary>The value of RateLimit-Policy.</summary>
    public ReadOnlyMemory<byte> Policy { get; }

    /// <summary>Parses <c>[GLOB ]REQUESTS/UNIT[ burst REQUESTS]</c>. Throws <see cref="SiteException"/> for another text.</summary>
    public static RateLimitRule Parse(string text)
    {
        ReadOnlySpan<string> words = text.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        int? burst = null;
        if (words is [.., "burst", var size])
        {
            burst = RequestsOf(text, size);
            words = words[..^2];
        }

        if (words is not ([_] or [_, _]))
        {
            throw Refuse(text, "not a rate limit");
        }

        string rate = words[^1];
        int slash = rate.LastIndexOf('/');
        int windowSeconds = rate[(slash + 1)..] switch
        {
            "s" when slash > 0 => 1,
            "m" when slash > 0 => 60,
            "h" when slash > 0 => 3600,
            _ => throw Refuse(text, "not a rate limit"),
        };
        int requests = RequestsOf(text, rate[..slash]);
        return new RateLimitRule(words.Length == 2 ? words[0] : "*", rate, requests, windowSeconds, burst ?? requests);
    }

    private static int RequestsOf(string text, string number) =>
        int.TryParse(number, NumberStyles.None, CultureInfo.InvariantCulture, out int requests) && requests is > 0 and <= RequestsMax
            ? requests
            : throw new SiteException(
                $"'{FieldValidation.Shown(text)}' has a number that is not valid.", $"Use 1 to {RequestsMax} requests.");

    private static SiteException Refuse(string text, string why) =>
        new($"'{FieldValidation.Shown(text)}' is {why}.", $"Use {Form}.");
}

/// <summary>The rate limits of a site: a request counts for each one that its path matches. Immutable.</summary>
internal sealed class RateLimitRules
{
    private readonly RateLimitRule[] _rules;

    private RateLimitRules(IReadOnlyList<RateLimitRule> rules)
    {
        _rules = [.. rules];
        HasPaths = rules.Any(static rule => !rule.Pattern.IsForAll);
    }

    /// <summary>Whether a rule is not for all paths, so that they must be read.</summary>
    public bool HasPaths { get; }

    public ReadOnlySpan<RateLimitRule> All => _rules;

    /// <summary>Null for none.</summary>
    public static RateLimitRules? Of(SiteOptions options) => options.RateLimits.Count == 0 ? null : new RateLimitRules(options.RateLimits);
}
