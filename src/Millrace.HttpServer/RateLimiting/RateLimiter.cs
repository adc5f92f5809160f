using System.Net;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Engine;
using Millrace.Interop;
using Millrace.Interop.Sockets;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.RateLimiting;

/// <summary>
/// Limits how many requests each client sends: an IPv4 address, or the /64 network of an IPv6 address. One for all sites and reactors; its
/// table is allocated by the first request that a rule applies to. Any thread; a request allocates nothing and takes no lock.
/// </summary>
internal sealed class RateLimiter
{
    /// <summary>Enough for 1,000,000 clients at a time.</summary>
    public const long DefaultBytes = 32 * 1024 * 1024;

    private const long NanosecondsPerMillisecond = 1_000_000;
    private const long NanosecondsPerSecond = 1_000_000_000;

    private readonly RateLimitLog _log;
    private readonly LogRateLimiter _lines = new();
    private readonly long _bytes;

    // Of this process: nobody can choose addresses that share slots.
    private readonly ulong _seed = KernelRandom.NextUInt64();
    private readonly ulong _multiplier = KernelRandom.NextUInt64() | 1;
    private ClientBuckets? _buckets;
    private long _refused;

    /// <param name="bytes">The memory of the table.</param>
    /// <param name="logging">For a line each ten seconds at most, if requests are refused.</param>
    public RateLimiter(long bytes = DefaultBytes, ILoggerFactory? logging = null)
    {
        _bytes = bytes;
        _log = new RateLimitLog((logging ?? NullLoggerFactory.Instance).CreateLogger("Millrace.RateLimit"));
    }

    /// <summary>Requests refused since the start.</summary>
    public long Refused => Volatile.Read(ref _refused);

    /// <summary>Clients forgotten before their time because the table was full.</summary>
    public long Forgotten => Volatile.Read(ref _buckets)?.Forgotten ?? 0;

    /// <summary>
    /// Counts a request for each rule that its path matches. Returns the first rule that it exceeds, with the seconds after which the
    /// client may send it again; it then counts for none. A client without an address has no limit.
    /// </summary>
    public RateLimitRule? Exceeded(
        RateLimitRules rules, IPAddress? client, scoped in PathReadings path, long nowMs, out long retryAfterSeconds)
    {
        retryAfterSeconds = 0;
        if (client is null)
        {
            return null;
        }

        var address = ClientAddress.Of(client);
        ClientBuckets buckets = _buckets ?? Allocate();
        long nowNs = nowMs * NanosecondsPerMillisecond;
        ReadOnlySpan<RateLimitRule> all = rules.All;
        for (int i = 0; i < all.Length; i++)
        {
            RateLimitRule rule = all[i];
            if (!Applies(rule, path))
            {
                continue;
            }

            long waitNs = buckets.Take(KeyOf(rule, address), nowNs, rule.IntervalNs, rule.CapacityNs);
            if (waitNs > 0)
            {
                ReturnAll(buckets, all[..i], address, path);
                retryAfterSeconds = (waitNs + NanosecondsPerSecond - 1) / NanosecondsPerSecond;
                NoteRefused(rule, client, nowMs);
                return rule;
            }
        }

        return null;
    }

    private static bool Applies(RateLimitRule rule, scoped in PathReadings path)
    {
        bool applies = rule.Pattern.IsForAll;
        for (int i = 0; i < PathReadings.Count && !applies; i++)
        {
            applies = rule.Pattern.Covers(path, i);
        }

        return applies;
    }

    private void ReturnAll(
        ClientBuckets buckets, ReadOnlySpan<RateLimitRule> rules, ClientAddress address, scoped in PathReadings path)
    {
        foreach (RateLimitRule rule in rules)
        {
            if (Applies(rule, path))
            {
                buckets.Return(KeyOf(rule, address), rule.IntervalNs);
            }
        }
    }

    /// <summary>
    /// A hash of both, as wyhash mixes: with 1,000,000 clients, that two share a bucket has a probability of one in 30 million.
    /// </summary>
    private ulong KeyOf(RateLimitRule rule, ClientAddress address)
    {
        ulong high = Math.BigMul(address.Value ^ _seed, _multiplier ^ (rule.Id & ~1UL), out ulong low);
        ulong key = high ^ low;
        return key == 0 ? 1 : key;
    }

    private ClientBuckets Allocate()
    {
        var buckets = new ClientBuckets(_bytes);
        return Interlocked.CompareExchange(ref _buckets, buckets, null) ?? buckets;
    }

    private void NoteRefused(RateLimitRule rule, IPAddress client, long nowMs)
    {
        Interlocked.Increment(ref _refused);
        if (_lines.Admits(nowMs, out long suppressed))
        {
            _log.Refused(suppressed + 1, rule.Text, client);
        }
    }
}

/// <summary>The log lines of rate limits. Event ids are stable.</summary>
internal sealed partial class RateLimitLog(ILogger logger)
{
    private readonly ILogger _logger = new NonThrowingLogger(logger);

    [LoggerMessage(800, LogLevel.Warning, "Requests refused by rate limits: {Count}; the last by '{Rule}', from {Client}.")]
    public partial void Refused(long count, string rule, IPAddress client);
}
