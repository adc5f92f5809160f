using System.CommandLine;
using System.CommandLine.Parsing;

namespace Millrace.Server;

/// <summary>The flags for the limits that operators set. The reasons for the defaults stand with the limits themselves.</summary>
internal sealed class LimitFlags
{
    private const long SecondsMax = 24 * 60 * 60;

    /// <summary>The table that flags and help come from.</summary>
    public static readonly LimitFlag[] All =
    [
        new("--connections", LimitUnit.N, "Connections at one time. The newest beyond it are answered 503, or reset.", 1, 16_000_000,
            static limits => limits.Engine.Connections,
            static (limits, number) => limits with { Engine = limits.Engine with { Connections = (int)number } }),
        new("--connections-per-client", LimitUnit.N, "Of those, connections of one IPv4 address or IPv6 /64; 0: all.", 0, 16_000_000,
            static limits => limits.Engine.ConnectionsPerClient,
            static (limits, number) => limits with { Engine = limits.Engine with { ConnectionsPerClient = (int)number } }),
        new("--buffer-memory", LimitUnit.Bytes, "Memory for what is received and sent; 0: a quarter of all there is.", 0, long.MaxValue,
            static limits => limits.Engine.BufferBytes,
            static (limits, number) => limits with { Engine = limits.Engine with { BufferBytes = number } }),
        new("--keep-alive-timeout", LimitUnit.Seconds, "How long a connection may wait for its next request.", 1, SecondsMax,
            static limits => (long)limits.Web.KeepAlive.TotalSeconds,
            static (limits, number) => limits with { Web = limits.Web with { KeepAlive = TimeSpan.FromSeconds(number) } }),
        new("--head-timeout", LimitUnit.Seconds, "How long a request's head may take from its first byte to its last.", 1, SecondsMax,
            static limits => (long)limits.Web.Head.TotalSeconds,
            static (limits, number) => limits with { Web = limits.Web with { Head = TimeSpan.FromSeconds(number) } }),
        new("--head-max", LimitUnit.Bytes, "How large a request's head may be.", 1024, 1024 * 1024,
            static limits => limits.Web.HeadBytesMax,
            static (limits, number) => limits with { Web = limits.Web with { HeadBytesMax = (int)number } }),
        new("--receive-timeout", LimitUnit.Seconds, "How long a client may be silent within a head or a body.", 1, SecondsMax,
            static limits => (long)limits.Web.ReceiveStall.TotalSeconds,
            static (limits, number) => limits with { Web = limits.Web with { ReceiveStall = TimeSpan.FromSeconds(number) } }),
        new("--receive-rate", LimitUnit.Bytes, "How much of a head or a body must come a second, on average; 0: any.", 0, int.MaxValue,
            static limits => limits.Web.ReceiveBytesPerSecond,
            static (limits, number) => limits with { Web = limits.Web with { ReceiveBytesPerSecond = (int)number } }),
        new("--send-timeout", LimitUnit.Seconds, "How long a client may take nothing of an answer that waits for it.", 1, SecondsMax,
            static limits => (long)limits.Engine.WriteStall.TotalSeconds,
            static (limits, number) => limits with { Engine = limits.Engine with { WriteStall = TimeSpan.FromSeconds(number) } }),
        new("--send-rate", LimitUnit.Bytes, "How much of an answer must be taken a second, on average; 0: any.", 0, int.MaxValue,
            static limits => limits.Engine.WriteBytesPerSecond,
            static (limits, number) => limits with { Engine = limits.Engine with { WriteBytesPerSecond = (int)number } }),
        new("--drain", LimitUnit.Seconds, "How long requests under way get to finish when the server is stopped.", 0, SecondsMax,
            static limits => (long)limits.Drain.TotalSeconds,
            static (limits, number) => limits with { Drain = TimeSpan.FromSeconds(number) }),
    ];

    private readonly List<(LimitFlag Row, Option<string> Flag)> _flags = [.. All.Select(static row => (row, FlagOf(row)))];

    public IEnumerable<Option> Options => _flags.Select(static flag => flag.Flag);

    /// <summary>The limits that the command line asked for.</summary>
    public ServeLimits Read(ParseResult parsed)
    {
        var limits = new ServeLimits();
        foreach ((LimitFlag row, Option<string> flag) in _flags)
        {
            if (parsed.GetValue(flag) is string text && row.Parse(text, out _) is long number)
            {
                limits = row.With(limits, number);
            }
        }

        return limits;
    }

    private static Option<string> FlagOf(LimitFlag row)
    {
        var flag = new Option<string>(row.Name)
        {
            Description = $"{row.Help} [default: {row.Default}]",
            HelpName = row.Unit.ToString().ToUpperInvariant(),
        };
        flag.Validators.Add(result => Check(row, result));
        return flag;
    }

    private static void Check(LimitFlag row, OptionResult result)
    {
        foreach (Token token in result.Tokens)
        {
            if (row.Parse(token.Value, out string problem) is null)
            {
                result.AddError(problem);
            }
        }
    }
}
