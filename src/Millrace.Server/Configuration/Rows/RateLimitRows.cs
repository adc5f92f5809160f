using Millrace.HttpServer.RateLimiting;
using Millrace.Interop.Memory;
using Millrace.StaticFiles.Rules;

namespace Millrace.Server.Configuration.Rows;

/// <summary>How many requests a client may send, by site, and the memory for counting them.</summary>
internal static class RateLimitRows
{
    private const long BytesMin = 64 * 1024;
    private const long BytesMax = 1024 * 1024 * 1024;
    private const int MemoryFraction = 32;

    public static IEnumerable<ServerOption> OfSites =>
    [
        new OptionGroup("", OptionChange.AtReload).Texts("rate-limit", OptionValueKind.Rule, "[GLOB ]N/UNIT[ burst N]",
            "Limit of each client (IPv4 address or IPv6 /64): requests per s, m or h, and how many at once (default: N). "
            + "A request counts for each rule that its path matches. Beyond a limit it gets 429.",
            static (options, text) => options with
            {
                Site = options.Site with { RateLimits = [.. options.Site.RateLimits, RateLimitRule.Parse(text)] },
            }) with
        {
            Scope = OptionScope.Site,
            Parts =
            [
                new RulePart("path", After: " ", IsOptional: true),
                new RulePart("rate"),
                new RulePart("burst", Before: " burst ", IsOptional: true),
            ],
        },
    ];

    public static IEnumerable<ServerOption> OfServer =>
    [
        new OptionGroup("limits", OptionChange.AtRestart).Bytes("rate-limit-memory",
            "Memory for --rate-limit: 32 bytes per client and rule. When it is full, clients with the fewest recent requests are "
            + "forgotten. By default at most 1/32 of the available memory.",
            BytesMin,
            BytesMax,
            static options => options.RateLimitBytes,
            static (options, bytes) => options with { RateLimitBytes = bytes }) with
        {
            Default = "32m",
        },
    ];

    /// <summary>The memory of the table; the default shrinks if the process has little memory.</summary>
    public static long ResolveRateLimitBytes(this ServeOptions options) => options.RateLimitBytes == RateLimiter.DefaultBytes
        ? Math.Min(RateLimiter.DefaultBytes, ProcessMemory.Bytes / MemoryFraction)
        : options.RateLimitBytes;
}
