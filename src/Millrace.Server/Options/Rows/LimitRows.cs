namespace Millrace.Server.Options.Rows;

/// <summary>The bounds that operators set. The reasons for the defaults stand with the bounds themselves.</summary>
internal static class LimitRows
{
    private const long SecondsMax = 24 * 60 * 60;
    private const long ConnectionsMax = 16_000_000;

    private static readonly NumberRow Row = new("limits", OptionChange.AtRestart);

    public static IEnumerable<ServerOption> All =>
    [
        Row.Count("connections", "Connections at one time. The newest beyond it are answered 503, or reset.", 1, ConnectionsMax,
            static options => options.Engine.Limits.Connections,
            static (options, number) => options.WithLimits(limits => limits with { Connections = (int)number })),
        Row.Count("connections-per-client", "Of those, connections of one IPv4 address or IPv6 /64; 0: all.", 0, ConnectionsMax,
            static options => options.Engine.Limits.ConnectionsPerClient,
            static (options, number) => options.WithLimits(limits => limits with { ConnectionsPerClient = (int)number })),
        Row.Bytes("buffer-memory", "Memory for what is received and sent; 0: a quarter of all there is.", 0, long.MaxValue,
            static options => options.Engine.Limits.BufferBytes,
            static (options, number) => options.WithLimits(limits => limits with { BufferBytes = number })),
        Row.Seconds("keep-alive-timeout", "How long a connection may wait for its next request.", 1, SecondsMax,
            static options => options.Web.KeepAlive,
            static (options, time) => options with { Web = options.Web with { KeepAlive = time } }),
        Row.Seconds("head-timeout", "How long a request's head may take from its first byte to its last.", 1, SecondsMax,
            static options => options.Web.Head,
            static (options, time) => options with { Web = options.Web with { Head = time } }),
        Row.Bytes("head-max", "How large a request's head may be.", 1024, 1024 * 1024,
            static options => options.Web.HeadBytesMax,
            static (options, number) => options with { Web = options.Web with { HeadBytesMax = (int)number } }),
        Row.Seconds("receive-timeout", "How long a client may be silent within a head or a body.", 1, SecondsMax,
            static options => options.Web.ReceiveStall,
            static (options, time) => options with { Web = options.Web with { ReceiveStall = time } }),
        Row.Bytes("receive-rate", "How much of a head or a body must come a second, on average; 0: any.", 0, int.MaxValue,
            static options => options.Web.ReceiveBytesPerSecond,
            static (options, number) => options with { Web = options.Web with { ReceiveBytesPerSecond = (int)number } }),
        Row.Seconds("send-timeout", "How long a client may take nothing of an answer that waits for it.", 1, SecondsMax,
            static options => options.Engine.Limits.WriteStall,
            static (options, time) => options.WithLimits(limits => limits with { WriteStall = time })),
        Row.Bytes("send-rate", "How much of an answer must be taken a second, on average; 0: any.", 0, int.MaxValue,
            static options => options.Engine.Limits.WriteBytesPerSecond,
            static (options, number) => options.WithLimits(limits => limits with { WriteBytesPerSecond = (int)number })),
        new NumberRow("limits", OptionChange.AtReload)
            .Seconds("drain", "How long requests under way get to finish when the server is stopped.", 0, SecondsMax,
                static options => options.Drain,
                static (options, time) => options with { Drain = time }),
    ];
}
