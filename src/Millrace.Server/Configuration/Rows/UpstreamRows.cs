using Millrace.HttpServer.Upstreams;

namespace Millrace.Server.Configuration.Rows;

/// <summary>Limits and deadlines of requests to applications (<c>--proxy</c>), for all sites.</summary>
internal static class UpstreamRows
{
    private const long SecondsMax = 24 * 60 * 60;

    private static readonly OptionGroup Group = new("upstreams", OptionChange.AtReload);

    public static IEnumerable<ServerOption> All =>
    [
        Group.Seconds("proxy-timeout", "How long an application may take to begin its response; then the client gets 504.", 1, SecondsMax,
            static options => options.Upstreams.FirstByteTimeout,
            static (options, time) => options.With(upstreams => upstreams with { FirstByteTimeout = time })),
        Group.Seconds("proxy-connect-timeout", "How long connecting to an application may take.", 1, SecondsMax,
            static options => options.Upstreams.ConnectTimeout,
            static (options, time) => options.With(upstreams => upstreams with { ConnectTimeout = time })),
        Group.Seconds("proxy-idle-timeout", "How long an application may pause within a response.", 1, SecondsMax,
            static options => options.Upstreams.IdleTimeout,
            static (options, time) => options.With(upstreams => upstreams with { IdleTimeout = time })),
        Group.Seconds("proxy-tunnel-timeout", "How long a WebSocket, or another upgraded connection, may be idle.", 1, SecondsMax,
            static options => options.Upstreams.TunnelIdleTimeout,
            static (options, time) => options.With(upstreams => upstreams with { TunnelIdleTimeout = time })),
        Group.Count("proxy-connections", "Maximum number of connections to one application, divided among the reactors.", 1, 65_536,
            static options => options.Upstreams.ConnectionsMax,
            static (options, count) => options.With(upstreams => upstreams with { ConnectionsMax = (int)count })),
        Group.Count("proxy-queue", "Requests per reactor that may wait for a connection; further ones get 503.", 0, 65_536,
            static options => options.Upstreams.QueueMax,
            static (options, count) => options.With(upstreams => upstreams with { QueueMax = (int)count })),
        new OptionGroup("upstreams", OptionChange.AtRestart).Text("proxy-ca", OptionValueKind.File, "FILE",
            "PEM file with the root certificates for applications with https, instead of the system's.",
            static (options, text) => options with { UpstreamAuthorities = text }),
    ];

    private static ServeOptions With(this ServeOptions options, Func<UpstreamOptions, UpstreamOptions> change) =>
        options with { Upstreams = change(options.Upstreams) };
}
