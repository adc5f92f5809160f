namespace Millrace.Conformance.Tests.Kit;

/// <summary>
/// Who is asked: Millrace on each of its backends and its middleware on Kestrel (one of them, told by MILLRACE_BACKEND), or, told by
/// MILLRACE_CONFORMANCE_TARGET=host:port, a server that is running already and serves the folder MILLRACE_CONFORMANCE_ROOT (created and
/// filled by the run).
/// </summary>
internal static class Fronts
{
    /// <summary>UseMillraceStaticFiles in an application, on Kestrel and its own sockets.</summary>
    public const string Kestrel = "kestrel";

    private static readonly string[] Ours = Told("MILLRACE_BACKEND") is { } asked ? [asked] : ["io_uring", "epoll", Kestrel];

    public static string? Target { get; } = Told("MILLRACE_CONFORMANCE_TARGET");

    public static string? TargetRoot { get; } = Told("MILLRACE_CONFORMANCE_ROOT");

    /// <summary>Another build of Millrace than the one beside the tests.</summary>
    public static string? Program { get; } = Told("MILLRACE_CONFORMANCE_PROGRAM");

    public static bool IsForeign => Target is not null;

    public static IReadOnlyList<string> All => Target is not null ? [Target] : Ours;

    private static string? Told(string name) => Environment.GetEnvironmentVariable(name) is { Length: > 0 } value ? value : null;
}
