namespace Millrace.Server.Configuration.Rows;

/// <summary>Limits that operators set. The properties document the reasons for the defaults.</summary>
internal static class LimitRows
{
    private const long SecondsMax = 24 * 60 * 60;
    private const long ConnectionsMax = 16_000_000;

    private static readonly OptionGroup Row = new("limits", OptionChange.AtRestart);

    public static IEnumerable<ServerOption> All =>
    [
        Row.Count("connections",
            "Maximum number of open connections. New connections above it get 503, or a reset.", 1, ConnectionsMax,
            static options => options.Engine.Limits.Connections,
            static (options, number) => options.WithLimits(limits => limits with { Connections = (int)number })),
        Row.Count("connections-per-client",
            "Maximum number of open connections per IPv4 address or IPv6 /64; 0: no limit.", 0, ConnectionsMax,
            static options => options.Engine.Limits.ConnectionsPerClient,
            static (options, number) => options.WithLimits(limits => limits with { ConnectionsPerClient = (int)number })),
        Row.Bytes("buffer-memory", "Maximum memory for connection buffers; 0: a quarter of the available memory.", 0, long.MaxValue,
            static options => options.Engine.Limits.BufferBytes,
            static (options, number) => options.WithLimits(limits => limits with { BufferBytes = number })),
        Row.Seconds("keep-alive-timeout", "How long an idle connection is kept open for its next request.", 1, SecondsMax,
            static options => options.Web.KeepAlive,
            static (options, time) => options with { Web = options.Web with { KeepAlive = time } }),
        Row.Seconds("head-timeout", "How long a client may take to send a request head.", 1, SecondsMax,
            static options => options.Web.Head,
            static (options, time) => options with { Web = options.Web with { Head = time } }),
        Row.Bytes("head-max", "Maximum size of a request head.", 1024, 1024 * 1024,
            static options => options.Web.HeadBytesMax,
            static (options, number) => options with { Web = options.Web with { HeadBytesMax = (int)number } }),
        Row.Seconds("receive-timeout", "How long a client may pause while it sends a request head or body.", 1, SecondsMax,
            static options => options.Web.ReceiveStall,
            static (options, time) => options with { Web = options.Web with { ReceiveStall = time } }),
        Row.Bytes("receive-rate",
            "Minimum average rate at which a client must send a request head or body, per second; 0: no minimum.", 0, int.MaxValue,
            static options => options.Web.ReceiveBytesPerSecond,
            static (options, number) => options with { Web = options.Web with { ReceiveBytesPerSecond = (int)number } }),
        Row.Seconds("send-timeout", "How long a client may pause while it receives a response.", 1, SecondsMax,
            static options => options.Engine.Limits.WriteStall,
            static (options, time) => options.WithLimits(limits => limits with { WriteStall = time })),
        Row.Bytes("send-rate",
            "Minimum average rate at which a client must receive a response, per second; 0: no minimum.", 0, int.MaxValue,
            static options => options.Engine.Limits.WriteBytesPerSecond,
            static (options, number) => options.WithLimits(limits => limits with { WriteBytesPerSecond = (int)number })),
        new OptionGroup("limits", OptionChange.AtReload)
            .Seconds("drain", "How long in-flight requests may take to finish when the server stops.", 0, SecondsMax,
                static options => options.Drain,
                static (options, time) => options with { Drain = time }),
    ];
}
