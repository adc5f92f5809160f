using Millrace.Engine;

namespace Millrace.Tests.Shared;

/// <summary>
/// The backend that a run is about, told by MILLRACE_BACKEND: auto, io_uring or epoll. Tests of one backend alone, whatever the run, are
/// marked [Trait("Backend", NAME)], so that a run on the other leaves them out by name.
/// </summary>
internal static class AskedBackend
{
    public static BackendKind Kind { get; } = Environment.GetEnvironmentVariable("MILLRACE_BACKEND") switch
    {
        null or "" or "auto" => BackendKind.Auto,
        "io_uring" => BackendKind.IoUring,
        "epoll" => BackendKind.Epoll,
        string other => throw new InvalidOperationException($"MILLRACE_BACKEND is '{other}': auto, io_uring or epoll are backends."),
    };

    /// <summary>The options as a run wants them; a test that asks for a backend itself gets that.</summary>
    public static EngineOptions ForRun(this EngineOptions options) =>
        options.Backend == BackendKind.Auto ? options with { Backend = Kind } : options;
}
