namespace Millrace.Conformance.Tests.Kit;

/// <summary>
/// The servers under test: Millrace on each of its backends, over HTTP/1.1 and HTTP/2, both with and without TLS, and over HTTP/3, and its
/// middleware on Kestrel. MILLRACE_BACKEND selects one backend, or Kestrel alone. MILLRACE_CONFORMANCE_TARGET=host:port is a running server
/// instead, which serves the folder MILLRACE_CONFORMANCE_ROOT (created and filled by the run).
/// </summary>
internal static class Fronts
{
    /// <summary>UseMillraceStaticFiles in an application, on Kestrel and its own sockets; for HTTP/3 on Millrace's transport.</summary>
    public const string Kestrel = "kestrel";

    /// <summary>Behind a backend's name: asked through TLS.</summary>
    private const string Tls = "+tls";

    /// <summary>Behind these: asked in HTTP/2, by ALPN through TLS, or else with prior knowledge.</summary>
    private const string Http2 = "+h2";

    /// <summary>Behind a backend's name and TLS: asked in HTTP/3.</summary>
    private const string Http3 = "+h3";

    private static readonly string[] KestrelWays = [Kestrel, Kestrel + Tls + Http3];

    private static readonly string[] Ours = Reported("MILLRACE_BACKEND") is { } asked
        ? asked == Kestrel ? KestrelWays : [.. WaysToAsk(asked)]
        : [.. WaysToAsk("io_uring"), .. WaysToAsk("epoll").Where(static front => !IsTls(front) || IsHttp3(front) || AsksAll), .. KestrelWays];

    /// <summary>TLS over TCP lies above what backends differ in: a usual run asks through it on one of them.</summary>
    private static bool AsksAll => Reported("MILLRACE_TEST_ALL") is not null;

    public static string? Target { get; } = Reported("MILLRACE_CONFORMANCE_TARGET");

    public static string? TargetRoot { get; } = Reported("MILLRACE_CONFORMANCE_ROOT");

    /// <summary>Another build of Millrace than the one beside the tests.</summary>
    public static string? Program { get; } = Reported("MILLRACE_PROGRAM");

    public static bool IsForeign => Target is not null;

    public static IReadOnlyList<string> All => Target is not null ? [Target] : Ours;

    public static bool IsHttp2(string front) => front.EndsWith(Http2, StringComparison.Ordinal);

    public static bool IsHttp3(string front) => front.EndsWith(Http3, StringComparison.Ordinal);

    /// <summary>Whether requests are streams, rather than messages of HTTP/1.1.</summary>
    public static bool HasStreams(string front) => IsHttp2(front) || IsHttp3(front);

    public static bool IsTls(string front) => front.Contains(Tls, StringComparison.Ordinal);

    public static string BackendOf(string front) => front.Split('+')[0];

    /// <summary>The front whose server this one asks: the program speaks all versions of HTTP at a time, with and without TLS.</summary>
    public static string ServerOf(string front) => BackendOf(front) == Kestrel ? front : BackendOf(front);

    private static string[] WaysToAsk(string backend) => [backend, backend + Http2, backend + Tls, backend + Tls + Http2, backend + Tls + Http3];

    private static string? Reported(string name) => Environment.GetEnvironmentVariable(name) is { Length: > 0 } value ? value : null;
}
